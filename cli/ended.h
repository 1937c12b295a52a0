/* SPDX-License-Identifier: Apache-2.0 */
/* The records of containers that have ended: one file each, written by the enforcer, readable without it. */
#ifndef SKM_CLI_ENDED_H
#define SKM_CLI_ENDED_H

#include "base/err.h"
#include "model/event.h"
#include "model/report.h"

#include <stddef.h>

struct skm_ended {
	struct skm_report report;
	struct skm_event *events;
	size_t event_count;
};

struct skm_ended_set {
	struct skm_ended **items; /* the one that ended last comes first */
	size_t count;
};

#define SKM_ENDED_SET_INIT ((struct skm_ended_set){0})

/* Loads every record of the folder. One that cannot be read is said on stderr and left out; a folder that is not there is an
 * empty set. Give the set to skm_cli_ended_free in any case. Returns 0; -ENOMEM; -errno. */
int skm_cli_ended_load(const char *folder, struct skm_ended_set *ret, struct skm_err *err);
void skm_cli_ended_free(struct skm_ended_set *set);

#define cleanup_ended __attribute__((cleanup(skm_cli_ended_free)))

/* The newest record of the container `id`, or of the only id that begins so. The set keeps it.
 * Returns 1; 0 where there is none; -EEXIST where several ids begin so (err names some). */
int skm_cli_ended_find(const struct skm_ended_set *set, const char *id, const struct skm_ended **ret, struct skm_err *err);

#endif
