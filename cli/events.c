/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem events [ID] */
#include "cli.h"

#include "event_list.h"
#include "format.h"
#include "table.h"

#include <poll.h>
#include <stdio.h>

/* How often --follow asks for what is new. */
#define FOLLOW_MSEC 500

static enum skm_exit print_table(const struct skm_event_list *list)
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
		                                      skm_cli_sock(event->sock_bytes, sock), event->text});
	}
	r = skm_table_print(table, stdout, skm_table_terminal_width());
	skm_table_free(table);
	return r < 0 ? skm_cli_fail(SKM_EXIT_FAILURE, "out of memory") : SKM_EXIT_OK;
}

/* One line that needs to know nothing of the next. */
static enum skm_exit print_line(const struct skm_cli *cli, const struct skm_tagged_event *one)
{
	const struct skm_event *event = &one->event;
	char when[SKM_FORMAT_MAX], sock[SKM_FORMAT_MAX];

	if (cli->json)
		return skm_cli_print_json(skm_codec_event_format(one));
	printf("%s  ", skm_cli_time(event->realtime_usec, when));
	skm_cli_put(one->id);
	printf("  %-13s  %-7s  %10s  ", skm_name_of(&skm_event_kind_names, event->kind),
	       skm_name_of(&skm_step_names, event->step), skm_cli_sock(event->sock_bytes, sock));
	skm_cli_put(event->text);
	putchar('\n');
	return SKM_EXIT_OK;
}

/* Until stdout is closed or the program is ended. Events are told apart by their time, in microseconds. */
static enum skm_exit follow(const struct skm_cli *cli)
{
	uint64_t newest_usec = 0;

	for (;;) {
		cleanup_event_list struct skm_event_list list = SKM_EVENT_LIST_INIT;
		enum skm_cli_asked asked;
		enum skm_exit status = skm_cli_event_list_collect(cli->operand, newest_usec > 0, &list, &asked);

		if (status != SKM_EXIT_OK)
			return status;
		for (size_t i = 0; i < list.count; i++) {
			if (list.events[i].event.realtime_usec <= newest_usec)
				continue;
			status = print_line(cli, &list.events[i]);
			if (status != SKM_EXIT_OK)
				return status;
		}
		if (list.count > 0 && list.events[list.count - 1].event.realtime_usec > newest_usec)
			newest_usec = list.events[list.count - 1].event.realtime_usec;
		if (newest_usec == 0)
			newest_usec = 1; /* from the second look on, what is not there yet is no fault */
		if (fflush(stdout) != 0)
			return SKM_EXIT_FAILURE; /* main says so */
		SKM_IGNORE(poll(NULL, 0, FOLLOW_MSEC));
	}
}

enum skm_exit skm_cli_events(const struct skm_cli *cli)
{
	cleanup_event_list struct skm_event_list list = SKM_EVENT_LIST_INIT;
	enum skm_cli_asked asked;
	enum skm_exit status;

	if (cli->follow)
		return follow(cli);
	status = skm_cli_event_list_collect(cli->operand, false, &list, &asked);
	if (status != SKM_EXIT_OK)
		return status;
	return cli->json ? skm_cli_print_json(skm_codec_events_format(list.events, list.count, true)) : print_table(&list);
}
