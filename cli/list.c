/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem list [--ended] */
#include "cli.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/message.h"
#include "ended.h"
#include "format.h"
#include "live.h"
#include "paths.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_live(struct skm_table *table, const struct skm_report *report, uint64_t now)
{
	char sock[SKM_FORMAT_MAX], limit[SKM_FORMAT_MAX], percent[SKM_FORMAT_MAX], peak[SKM_FORMAT_MAX], age[SKM_FORMAT_MAX];
	char sockets[SKM_FORMAT_MAX];

	snprintf(sockets, sizeof(sockets), "%u", report->sockets);
	skm_table_add(table, (const char *[]){
	                             report->id,
	                             skm_name_of(&skm_backend_names, report->backend),
	                             skm_name_of(&skm_step_names, report->decision.step),
	                             skm_cli_sock(report->sock_bytes, sock),
	                             skm_cli_bytes(report->limit_bytes, limit),
	                             skm_cli_percent_short(report->sock_bytes, report->limit_bytes, percent),
	                             skm_cli_sock(report->sock_peak_bytes, peak),
	                             sockets,
	                             skm_cli_age(report->started_realtime_usec, now, age),
	                     });
}

static void add_ended(struct skm_table *table, const struct skm_report *report, uint64_t now)
{
	char peak[SKM_FORMAT_MAX], limit[SKM_FORMAT_MAX], percent[SKM_FORMAT_MAX], ran[SKM_FORMAT_MAX], ago[SKM_FORMAT_MAX];
	char throttled[SKM_FORMAT_MAX], kills[SKM_FORMAT_MAX];

	snprintf(kills, sizeof(kills), "%llu", (unsigned long long)report->oom_kills);
	skm_table_add(table, (const char *[]){
	                             report->id,
	                             skm_name_of(&skm_backend_names, report->backend),
	                             skm_cli_sock(report->sock_peak_bytes, peak),
	                             skm_cli_bytes(report->limit_bytes, limit),
	                             skm_cli_percent_short(report->sock_peak_bytes, report->limit_bytes, percent),
	                             skm_cli_duration(report->throttled_usec, throttled),
	                             kills,
	                             skm_cli_age(report->started_realtime_usec, report->ended_realtime_usec, ran),
	                             skm_cli_age(report->ended_realtime_usec, now, ago),
	                     });
}

/* Narrow, so that an id keeps 12 characters where the terminal has 80 columns. */
static const struct skm_column live_columns[] = {
        {"ID", false, true},   {"MODE", false, false}, {"STEP", false, false}, {"SOCK", true, false}, {"LIMIT", true, false},
        {"USED", true, false}, {"PEAK", true, false},  {"TCP", true, false},   {"AGE", true, false},
};

static const struct skm_column ended_columns[] = {
        {"ID", false, true},        {"MODE", false, false}, {"PEAK", true, false}, {"LIMIT", true, false}, {"USED", true, false},
        {"THROTTLED", true, false}, {"OOM", true, false},   {"RAN", true, false},  {"GONE", true, false},
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static enum skm_exit print_table(const struct skm_report *const *reports, size_t count, bool ended)
{
	struct skm_table *table =
	        ended ? skm_table_new(ended_columns, COUNT(ended_columns)) : skm_table_new(live_columns, COUNT(live_columns));
	uint64_t now = skm_realtime_usec();
	int r;

	if (!table)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	for (size_t i = 0; i < count; i++)
		if (ended)
			add_ended(table, reports[i], now);
		else
			add_live(table, reports[i], now);
	r = skm_table_print(table, stdout, skm_table_terminal_width());
	skm_table_free(table);
	return r < 0 ? skm_cli_fail(SKM_EXIT_FAILURE, "out of memory") : SKM_EXIT_OK;
}

static enum skm_exit print(const struct skm_cli *cli, const struct skm_report *const *reports, size_t count)
{
	return cli->json ? skm_cli_print_json(skm_codec_reports_format(reports, count, true))
	                 : print_table(reports, count, cli->ended);
}

static enum skm_exit list_ended(const struct skm_cli *cli)
{
	cleanup_ended struct skm_ended_set set = SKM_ENDED_SET_INIT;
	cleanup_free const struct skm_report **reports = NULL;
	struct skm_err err = SKM_ERR_INIT;

	if (skm_cli_ended_load(skm_cli_paths()->ended, &set, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	reports = calloc(set.count + 1, sizeof(*reports));
	if (!reports)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	for (size_t i = 0; i < set.count; i++)
		reports[i] = &set.items[i]->report;
	return print(cli, reports, set.count);
}

static enum skm_exit list_live(const struct skm_cli *cli)
{
	cleanup_live struct skm_live live = SKM_LIVE_INIT;
	enum skm_exit status = skm_cli_live_load(&live);

	return status == SKM_EXIT_OK ? print(cli, live.sorted, live.count) : status;
}

enum skm_exit skm_cli_list(const struct skm_cli *cli)
{
	return cli->ended ? list_ended(cli) : list_live(cli);
}
