/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem events [ID] */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "ended.h"
#include "format.h"
#include "paths.h"
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct skm_tagged_event *events;
	size_t count;
};

static int append(struct list *list, const char *id, const struct skm_event *events, size_t count)
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
static int add_ended(struct list *list, const struct skm_ended_set *set, const char *id)
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

static enum skm_exit print_table(const struct list *list)
{
	static const struct skm_column columns[] = {{"TIME", false, false}, {"ID", false, true},   {"EVENT", false, false},
	                                            {"STEP", false, false}, {"SOCK", true, false}, {"WHAT", false, false}};
	struct skm_table *table = skm_table_new(columns, sizeof(columns) / sizeof(*columns));
	int r;

	if (!table)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	for (size_t i = 0; i < list->count; i++) {
		const struct skm_event *event = &list->events[i].event;
		char when[SKM_FORMAT_MAX], sock[SKM_FORMAT_MAX];

		skm_table_add(table, (const char *[]){skm_cli_time(event->realtime_usec, when), list->events[i].id,
		                                      skm_name_of(&skm_event_kind_names, event->kind),
		                                      skm_name_of(&skm_step_names, event->step),
		                                      skm_cli_bytes(event->sock_bytes, sock), event->text});
	}
	r = skm_table_print(table, stdout, skm_table_terminal_width());
	skm_table_free(table);
	return r < 0 ? skm_cli_fail(SKM_EXIT_FAILURE, "out of memory") : SKM_EXIT_OK;
}

static enum skm_exit print(const struct skm_cli *cli, struct list *list)
{
	if (list->count > 0)
		qsort(list->events, list->count, sizeof(*list->events), oldest_first);
	return cli->json ? skm_cli_print_json(skm_codec_events_format(list->events, list->count, true)) : print_table(list);
}

/* What the enforcer knows, of one container or all. */
static enum skm_cli_asked ask_live(const char *id, struct list *list, struct skm_err *err)
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

static enum skm_exit none_found(const char *id, enum skm_cli_asked asked, const struct skm_err *err)
{
	if (asked == SKM_ASKED_ABSENT)
		return skm_cli_fail(SKM_EXIT_NO_ENFORCER, "no container that has ended is called %s, and " SKM_CLI_ABSENT_TEXT,
		                    id);
	return skm_cli_fail(SKM_EXIT_NO_CONTAINER, "%s", err->text);
}

static enum skm_exit collect(const struct skm_cli *cli, struct list *list)
{
	cleanup_ended struct skm_ended_set set = SKM_ENDED_SET_INIT;
	struct skm_err err = SKM_ERR_INIT, ended_err = SKM_ERR_INIT;
	enum skm_cli_asked asked = ask_live(cli->operand, list, &err);
	const struct skm_ended *ended = NULL;
	const char *id = NULL;

	if (asked == SKM_ASKED_REFUSED && !skm_cli_is_unknown(&err))
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	if (skm_cli_ended_load(skm_cli_paths()->ended, &set, &ended_err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", ended_err.text);
	if (cli->operand && list->count > 0) { /* the whole id, of which the earlier runs are shown too */
		id = strdupa(list->events[0].id);
	} else if (cli->operand) {
		int found = skm_cli_ended_find(&set, cli->operand, &ended, &ended_err);

		if (found < 0)
			return skm_cli_fail(SKM_EXIT_NO_CONTAINER, "%s", ended_err.text);
		if (found == 0 && asked != SKM_ASKED_ANSWERED)
			return none_found(cli->operand, asked, &err);
		id = found ? ended->report.id : cli->operand;
	}
	if (add_ended(list, &set, id) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	return print(cli, list);
}

enum skm_exit skm_cli_events(const struct skm_cli *cli)
{
	struct list list = {0};
	enum skm_exit status = collect(cli, &list);

	free(list.events);
	return status;
}
