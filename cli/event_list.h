/* SPDX-License-Identifier: Apache-2.0 */
/* Events of running and ended containers, oldest first. */
#ifndef SKM_CLI_EVENT_LIST_H
#define SKM_CLI_EVENT_LIST_H

#include "cli.h"

#include "codec/message.h"

#include <stddef.h>

struct skm_event_list {
	struct skm_tagged_event *events;
	size_t count;
};

#define SKM_EVENT_LIST_INIT ((struct skm_event_list){0})

/* For a variable that holds a list. */
#define cleanup_event_list __attribute__((cleanup(skm_cli_event_list_free)))
void skm_cli_event_list_free(struct skm_event_list *list);

/* Fills an empty list with the events of the container `id` or of the only one that begins so; NULL: of all.
 * ret_asked: whether an enforcer answered. Returns SKM_EXIT_OK, or has said what is wrong; with quiet an enforcer that is not
 * there and a container that nobody knows (yet) are no fault, and the list is empty. */
enum skm_exit skm_cli_event_list_collect(const char *id, bool quiet, struct skm_event_list *list, enum skm_cli_asked *ret_asked);

#endif
