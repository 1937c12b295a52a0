/* SPDX-License-Identifier: Apache-2.0 */
/* What the enforcer holds now. */
#ifndef SKM_CLI_LIVE_H
#define SKM_CLI_LIVE_H

#include "base/cleanup.h"
#include "cli.h"
#include "model/report.h"

#include <stddef.h>
#include <stdlib.h>

struct skm_live {
	struct skm_report *reports;
	const struct skm_report **sorted; /* into reports, those whose sockets hold most first */
	size_t count;
};

#define SKM_LIVE_INIT ((struct skm_live){0})

/* Asks the enforcer. What fails is said; ret is freed by cleanup_live in any case. */
enum skm_exit skm_cli_live_load(struct skm_live *ret);

static inline void skm_cli_live_free(struct skm_live *live)
{
	free(live->sorted);
	free(live->reports);
}
#define cleanup_live __attribute__((cleanup(skm_cli_live_free)))

#endif
