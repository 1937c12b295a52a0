/* SPDX-License-Identifier: Apache-2.0 */
#include "event_list.h"

#include "base/cleanup.h"
#include "ended.h"
#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void skm_cli_event_list_free(struct skm_event_list *list)
{
	free(list->events);
	*list = SKM_EVENT_LIST_INIT;
}

static int append(struct skm_event_list *list, const char *id, const struct skm_event *events, size_t count)
{
	struct skm_tagged_event *larger = reallocarray(list->events, list->count + count + 1, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	list->events = larger;
	for (size_t i = 0; i < count; i++) {
		struct skm_tagged_event *one = &larger[list->count++];

		strcpy(one->id, id); /* of the same size */
		one->event = events[i];
	}
	return 0;
}

/* All records of the container that was asked for, or all. id: NULL for all. */
static int add_ended(struct skm_event_list *list, const struct skm_ended_set *set, const char *id)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct skm_ended *item = set->items[i];

		if (id && strcmp(item->report.id, id) != 0)
			continue;
		if (append(list, item->report.id, item->events, item->event_count) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int oldest_first(const void *a, const void *b)
{
	uint64_t one = ((const struct skm_tagged_event *)a)->event.realtime_usec;
	uint64_t other = ((const struct skm_tagged_event *)b)->event.realtime_usec;

	return one < other ? -1 : one > other ? 1 : 0;
}

/* What the enforcer knows, of one container or all. */
static enum skm_cli_asked ask_live(const char *id, struct skm_event_list *list, struct skm_err *err)
{
	cleanup_free char *data = NULL;
	enum skm_cli_asked asked = skm_cli_ask(SKM_VERB_EVENTS, id, &data, err);

	if (asked != SKM_ASKED_ANSWERED)
		return asked;
	if (data && skm_codec_events_parse(data, strlen(data), &list->events, &list->count, err) == 0)
		return SKM_ASKED_ANSWERED;
	if (data)
		skm_err_wrap(err, "the enforcer's events");
	else
		skm_err_set(err, EPROTO, "the enforcer's events: nothing came");
	return SKM_ASKED_REFUSED;
}

enum skm_exit skm_cli_event_list_collect(const char *id, bool quiet, struct skm_event_list *list, enum skm_cli_asked *ret_asked)
{
	cleanup_ended struct skm_ended_set set = SKM_ENDED_SET_INIT;
	struct skm_err err = SKM_ERR_INIT, ended_err = SKM_ERR_INIT;
	enum skm_cli_asked asked = ask_live(id, list, &err);
	const struct skm_ended *ended = NULL;
	cleanup_free char *whole = NULL;

	*ret_asked = asked;
	if (asked == SKM_ASKED_REFUSED && !skm_cli_is_unknown(&err))
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	if (skm_cli_ended_load(skm_cli_paths()->ended, &set, &ended_err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", ended_err.text);
	if (id && list->count > 0) { /* the whole id, of which the earlier runs are shown too */
		whole = strdup(list->events[0].id);
	} else if (id) {
		int found = skm_cli_ended_find(&set, id, &ended, &ended_err);

		if (found < 0)
			return skm_cli_fail(SKM_EXIT_NO_CONTAINER, "%s", ended_err.text);
		if (found == 0 && asked != SKM_ASKED_ANSWERED)
			return quiet ? SKM_EXIT_OK : skm_cli_none_found(id, asked, &err);
		whole = strdup(found ? ended->report.id : id);
	}
	if ((id && !whole) || add_ended(list, &set, whole) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	if (list->count > 0)
		qsort(list->events, list->count, sizeof(*list->events), oldest_first);
	return SKM_EXIT_OK;
}
