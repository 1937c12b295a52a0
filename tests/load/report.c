/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of bulk load prints at its end. */
#include "engine.h"
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t get_bytes(const struct conn *conn)
{
	return conn->bytes;
}

static uint64_t get_rcvbuf(const struct conn *conn)
{
	return conn->view.rcvbuf;
}

static uint64_t get_sndbuf(const struct conn *conn)
{
	return conn->view.sndbuf;
}

static uint64_t get_rcv_wscale(const struct conn *conn)
{
	return conn->view.rcv_wscale;
}

static uint64_t get_snd_wscale(const struct conn *conn)
{
	return conn->view.snd_wscale;
}

static const struct {
	const char *key;
	uint64_t (*get)(const struct conn *conn);
} columns[] = {
        {"per_connection_bytes", get_bytes}, {"rcvbuf", get_rcvbuf},         {"sndbuf", get_sndbuf},
        {"rcv_wscale", get_rcv_wscale},      {"snd_wscale", get_snd_wscale},
};

static int report_columns(const struct conns *conns, struct json *json)
{
	uint64_t *values = calloc(conns->n + 1, sizeof *values);

	if (!values)
		return -ENOMEM;
	for (size_t column = 0; column < sizeof columns / sizeof columns[0]; column++) {
		size_t n = 0;

		for (size_t i = 0; i < conns->n; i++) {
			if (conns->all[i].viewed)
				values[n++] = columns[column].get(&conns->all[i]);
		}
		json_distribution(json, columns[column].key, values, n);
	}
	free(values);
	return 0;
}

static void report_connections(const struct engine *engine, struct json *json)
{
	const struct conns *conns = &engine->conns;
	size_t closed = conns_count(conns, CONN_CLOSED), reset = conns_count(conns, CONN_RESET);

	json_uint(json, "connections", conns->open + closed + reset);
	json_uint(json, "open_at_end", conns->open);
	json_uint(json, "closed", closed);
	json_uint(json, "resets", reset);
	if (engine->settings->accept) {
		json_uint(json, "accept_failures", engine->accept_failures);
		return;
	}
	json_uint(json, "connect_failures", engine->settings->connections - (conns->open + closed + reset));
	json_uint(json, "connect_retries", engine->dialer.retries);
}

static void report_acked(const struct engine *engine, struct json *json)
{
	double seconds = meter_window_seconds(&engine->meter);
	uint64_t retransmits = 0;

	for (size_t i = 0; i < engine->conns.n; i++)
		retransmits += engine->conns.all[i].view.retransmits;
	json_uint(json, "acked_bytes", conns_acked(&engine->conns));
	json_uint(json, "retransmits", retransmits);
	if (engine->acked_to_known && seconds > 0)
		json_real(json, "window_acked_rate", (double)(engine->acked_to - engine->acked_from) / seconds, 0);
}

static void report_pace(const struct transfer *transfer, struct json *json)
{
	const struct pace *pace = &transfer->pace;

	json_uint(json, "wanted_rate", transfer->settings->rate);
	json_uint(json, "late_ticks", pace->late_ticks);
	json_real(json, "lost_credit_bytes", pace->lost_bytes, 0);
	json_real(json, "starved_seconds", to_seconds(transfer->starved_nsec), 3);
}

static int write_report(struct engine *engine, FILE *file)
{
	const struct settings *settings = engine->settings;
	int64_t first = engine->meter.running ? engine->meter.zero_nsec - engine->start_nsec : -1;
	struct json json;
	int r;

	/* A sender that is held back until the end was sending until the end. */
	if (settings->direction == WRITES && engine->meter.running)
		engine->meter.last_nsec = engine->end_nsec;
	json_begin(&json, file);
	json_text(&json, "sockload", settings->verb);
	json_real(&json, "start_unix", engine->start_unix, 6);
	json_real(&json, "seconds", to_seconds(engine->end_nsec - engine->start_nsec), 6);
	json_text(&json, "ended_by", engine->ended_by);
	json_real(&json, "first_data_at", first < 0 ? -1.0 : to_seconds(first), 6);
	meter_report(&engine->meter, &json);
	report_connections(engine, &json);
	if (settings->direction == WRITES)
		report_acked(engine, &json);
	if (settings->rate > 0)
		report_pace(&engine->transfer, &json);
	if (settings->anon > 0)
		json_uint(&json, "anon_bytes", engine->memory.touched);
	if (settings->echo_port > 0) {
		json_uint(&json, "echo_connections", engine->echoer.connections);
		json_uint(&json, "echo_bytes", engine->echoer.bytes);
	}
	r = report_columns(&engine->conns, &json);
	return r < 0 ? r : json_end(&json);
}

int engine_report(struct engine *engine)
{
	const char *out = engine->settings->out;
	FILE *file = out ? fopen(out, "we") : stdout;
	int r;

	if (!file) {
		complain("%s: %s", out, strerror(errno));
		return -errno;
	}
	r = write_report(engine, file);
	if (out)
		fclose(file);
	if (r < 0)
		complain("cannot write the report: %s", strerror(-r));
	return r;
}
