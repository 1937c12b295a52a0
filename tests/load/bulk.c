/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs that move bulk data: which options each has, and what it takes for granted. */
#include "engine.h"
#include "options.h"
#include "settings.h"
#include "util.h"
#include "verbs.h"

#include <errno.h>
#include <stddef.h>

#define AT(field) offsetof(struct settings, field)

static const struct option_row listening[] = {
        {"port", OPTION_PORT, AT(port), "PORT", "TCP port"},
        {"bind", OPTION_TEXT, AT(bind), "ADDRESS", "listen on this address only"},
        {"family", OPTION_FAMILY, AT(family), "4|6", "listen on this family only (both)"},
        {"start-delay", OPTION_TIME, AT(start_delay_nsec), "TIME", "wait before listening or dialling"},
        {0},
};

static const struct option_row accepting[] = {
        {"accept", OPTION_FLAG, AT(accept), NULL, "listen instead of dialling"},
        {0},
};

static const struct option_row dialling[] = {
        {"to", OPTION_TEXT, AT(to), "ADDRESS", "IPv4 or IPv6 literal to connect to"},
        {"connect", OPTION_TEXT, AT(to), "ADDRESS", NULL},
        {"retry", OPTION_TIME, AT(retry_nsec), "TIME", "patience with a listener that is not there yet (10s)"},
        {0},
};

static const struct option_row dialling_port[] = {
        {"port", OPTION_PORT, AT(port), "PORT", "TCP port"},
        {"start-delay", OPTION_TIME, AT(start_delay_nsec), "TIME", "wait before dialling"},
        {0},
};

static const struct option_row many[] = {
        {"connections", OPTION_COUNT, AT(connections), "N", "how many to dial (1)"},
        {"ramp", OPTION_COUNT, AT(ramp), "N", "dial so many a second (all at once)"},
        {"idle", OPTION_TIME, AT(idle_nsec), "TIME", "connect all, be idle so long, then move data"},
        {0},
};

static const struct option_row reading[] = {
        {"rate", OPTION_SIZE, AT(rate), "RATE", "bytes/s read over all connections (0: no limit)"},
        {"rate-each", OPTION_SIZE, AT(rate_each), "RATE", "bytes/s per connection (no limit)"},
        {"chunk", OPTION_SIZE, AT(chunk), "SIZE", "of one read (64Ki; 128Ki without --rate)"},
        {"stop-reading", OPTION_SPAN, AT(stop), "FROM:TO", "read nothing in this span"},
        {0},
};

static const struct option_row writing[] = {
        {"rate", OPTION_SIZE, AT(rate), "RATE", "bytes/s sent over all connections (no limit)"},
        {"limit-rate", OPTION_SIZE, AT(rate_each), "RATE", "bytes/s per connection (no limit)"},
        {"message", OPTION_SIZE, AT(chunk), "SIZE", "of one write (64Ki); below 1400 with TCP_NODELAY"},
        {"stay", OPTION_TIME, AT(stay_nsec), "TIME", "keep connections open, silent, after the duration"},
        {0},
};

static const struct option_row growing[] = {
        {"anon", OPTION_SIZE, AT(anon), "SIZE", "anonymous memory to fill"},
        {"anon-over", OPTION_TIME, AT(anon_over_nsec), "TIME", "evenly in this time (at once)"},
        {"anon-delay", OPTION_TIME, AT(anon_delay_nsec), "TIME", "after so long"},
        {0},
};

static const struct option_row serving[] = {
        {"echo-port", OPTION_PORT, AT(echo_port), "PORT", "answer `sockload echo` here; --port may be left out"},
        {0},
};

static const struct option_row closing[] = {
        {"until-closed", OPTION_FLAG, AT(until_closed), NULL, "end when all accepted connections have closed"},
        {0},
};

static const struct option_row common[] = {
        {"duration", OPTION_TIME, AT(duration_nsec), "TIME", "from listening, or from the first data (until a signal)"},
        {"measure", OPTION_SPAN, AT(measure), "FROM:TO", "also the rate in this span, from the first data on"},
        {"omit", OPTION_TIME, AT(omit_nsec), "TIME", "the same as --measure TIME:"},
        {"rcvbuf", OPTION_SIZE, AT(rcvbuf), "SIZE", "set SO_RCVBUF on each connection"},
        {"sndbuf", OPTION_SIZE, AT(sndbuf), "SIZE", "set SO_SNDBUF on each connection"},
        {"ready-file", OPTION_TEXT, AT(ready_file), "FILE", "made when listening, or when all are connected"},
        {"out", OPTION_TEXT, AT(out), "FILE", "write the JSON here (stdout)"},
        {0},
};

static const struct verb_usage serve_usage = {
        "serve", "accept connections and read them",
        (const struct option_row *const[]){listening, reading, growing, serving, closing, common, NULL}};
static const struct verb_usage blast_usage = {
        "blast", "send over many connections as fast as they take it",
        (const struct option_row *const[]){dialling, dialling_port, many, writing, common, NULL}};
static const struct verb_usage push_usage = {
        "push", "send to peers as fast as they take it",
        (const struct option_row *const[]){accepting, listening, dialling, many, writing, growing, closing, common, NULL}};
static const struct verb_usage drain_usage = {
        "drain", "read many connections slowly",
        (const struct option_row *const[]){accepting, listening, dialling, many, reading, closing, common, NULL}};
static const struct verb_usage stream_usage = {
        "stream", "one connection; --to sends, --accept receives until it closes",
        (const struct option_row *const[]){accepting, listening, dialling, writing, common, NULL}};

/* What options cannot say alone. One line on stderr and -EINVAL. */
static int check(const struct settings *settings)
{
	const char *verb = settings->verb;

	if (settings->accept == (settings->to != NULL)) {
		complain("%s: one of --to and --accept is needed", verb);
		return -EINVAL;
	}
	if (settings->port == 0 && settings->echo_port == 0) {
		complain("%s: --port is needed", verb);
		return -EINVAL;
	}
	if (settings->chunk == 0 || settings->chunk > 64u << 20) {
		complain("%s: a chunk or message is 1 byte to 64Mi", verb);
		return -EINVAL;
	}
	if (!settings->accept && (settings->connections < 1 || settings->connections > 1000000)) {
		complain("%s: --connections is 1 to 1000000", verb);
		return -EINVAL;
	}
	if (settings->omit_nsec > 0 && settings->measure.to_nsec > 0) {
		complain("%s: --omit and --measure exclude each other", verb);
		return -EINVAL;
	}
	return 0;
}

static int run(const struct verb_usage *usage, struct settings *settings, int argc, char **argv)
{
	settings->verb = usage->name;
	settings->retry_nsec = 10 * NSEC_PER_SEC;
	if (settings->connections == 0)
		settings->connections = 1;
	switch (options_parse(usage, settings, argc, argv)) {
	case OPTIONS_HELP_SHOWN:
		return DONE;
	case OPTIONS_BAD:
		return USAGE;
	}
	if (settings->verb == stream_usage.name && settings->accept) {
		settings->direction = READS;
		settings->until_closed = true;
	}
	/*
	 * Receive autotuning grows a buffer by what one read takes out within a round trip: with reads of 16 KiB 200
	 * connections held a few MB in all, with 64 KiB 72 MB, with 256 KiB 196 MB (6.1, 20 MB/s, 5 s, a busy host).
	 */
	if (settings->chunk == 0 && settings->direction == READS)
		settings->chunk = settings->rate > 0 ? 65536 : 131072;
	if (check(settings) < 0)
		return USAGE;
	if (settings->omit_nsec > 0)
		settings->measure = (struct span){settings->omit_nsec, INT64_MAX};
	return engine_main(settings);
}

int verb_serve(int argc, char **argv)
{
	return run(&serve_usage, &(struct settings){.direction = READS, .accept = true}, argc, argv);
}

int verb_drain(int argc, char **argv)
{
	return run(&drain_usage, &(struct settings){.direction = READS}, argc, argv);
}

int verb_blast(int argc, char **argv)
{
	return run(&blast_usage, &(struct settings){.direction = WRITES, .chunk = 65536}, argc, argv);
}

int verb_push(int argc, char **argv)
{
	return run(&push_usage, &(struct settings){.direction = WRITES, .chunk = 65536}, argc, argv);
}

int verb_stream(int argc, char **argv)
{
	return run(&stream_usage, &(struct settings){.direction = WRITES, .chunk = 131072}, argc, argv);
}
