/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The independent measure: samples a cgroup's socket memory without asking sockmem. JSON lines: a header, the samples,
 * a summary.
 */
#include "cgroup.h"
#include "json.h"
#include "options.h"
#include "util.h"
#include "verbs.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* How often kills and the end of the cgroup are looked for: a runtime takes longer to remove it. */
#define EVENTS_NSEC (20 * NSEC_PER_MSEC)

struct watch {
	const char *path, *out;
	bool v1;
	int64_t interval_nsec, duration_nsec, wait_nsec;
	int nice;

	struct cgroup cgroup;
	FILE *file;
	double start_unix;
	int64_t start_nsec, last_nsec, max_gap_nsec, peak_nsec;
	struct cgroup_sample last;
	struct cgroup_events first_events, events;
	uint64_t samples, missed, peak_sock, peak_current, peak_anon;
	double sum_sock;
	const char *ended_by;
};

#define AT(field) offsetof(struct watch, field)

static const struct option_row rows[] = {
        {"cgroup", OPTION_TEXT, AT(path), "DIR", "of the cgroup, as mounted"},
        {"v1", OPTION_FLAG, AT(v1), NULL, "a cgroup of the v1 memory controller"},
        {"interval", OPTION_TIME, AT(interval_nsec), "TIME", "between samples (5ms)"},
        {"duration", OPTION_TIME, AT(duration_nsec), "TIME", "at most (until the cgroup is empty or gone, or a signal)"},
        {"wait", OPTION_TIME, AT(wait_nsec), "TIME", "for the cgroup to appear (not at all)"},
        {"nice", OPTION_NICE, AT(nice), "N", "priority of the sampler, -20 to 19 (0)"},
        {"out", OPTION_TEXT, AT(out), "FILE", "JSON lines go here, the summary also to stdout (stdout)"},
        {0},
};

static const struct verb_usage usage = {"watch", "sample a cgroup's socket memory",
                                        (const struct option_row *const[]){rows, NULL}};

static void sleep_to(int64_t when)
{
	struct timespec ts = {.tv_sec = when / NSEC_PER_SEC, .tv_nsec = when % NSEC_PER_SEC};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static int wait_for_cgroup(struct watch *watch)
{
	int64_t end = now_nsec() + watch->wait_nsec;
	int r;

	while ((r = cgroup_open(&watch->cgroup, watch->path, watch->v1)) < 0) {
		if (now_nsec() >= end || signalled())
			break;
		sleep_to(now_nsec() + 2 * NSEC_PER_MSEC);
	}
	if (r < 0)
		complain("watch: %s: no such %s memory cgroup: %s", watch->path, watch->v1 ? "v1" : "v2", strerror(-r));
	return r;
}

/* No limit is null. */
static void json_limit(struct json *json, const char *key, uint64_t limit)
{
	/* v1 writes "none" as the largest multiple of a page. */
	if (limit >= (uint64_t)INT64_MAX - 65536)
		json_null(json, key);
	else
		json_uint(json, key, limit);
}

static void write_limits(const struct watch *watch, struct json *json)
{
	json_limit(json, "limit", watch->cgroup.limit);
	if (watch->v1)
		json_limit(json, "tcp_limit", watch->cgroup.tcp_limit);
}

static void write_header(const struct watch *watch)
{
	struct json json;

	json_begin(&json, watch->file);
	json_text(&json, "sockload", "watch");
	json_text(&json, "cgroup", watch->path);
	json_int(&json, "version", watch->v1 ? 1 : 2);
	json_real(&json, "start_unix", watch->start_unix, 6);
	json_real(&json, "interval", to_seconds(watch->interval_nsec), 6);
	write_limits(watch, &json);
	json_end(&json);
}

static void write_sample(const struct watch *watch, int64_t now, const struct cgroup_sample *sample)
{
	/* Not by the JSON writer: this is the one line that is written hundreds of times a second. */
	fprintf(watch->file, "{\"t\": %.4f, \"sock\": %llu, \"current\": %llu, \"anon\": %llu, \"file\": %llu}\n",
	        to_seconds(now - watch->start_nsec), (unsigned long long)sample->sock, (unsigned long long)sample->current,
	        (unsigned long long)sample->anon, (unsigned long long)sample->file);
}

static int write_summary(const struct watch *watch, FILE *file)
{
	double seconds = to_seconds(watch->last_nsec - watch->start_nsec), busy;
	struct rusage used;
	struct json json;

	getrusage(RUSAGE_SELF, &used);
	busy = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	json_begin(&json, file);
	json_text(&json, "summary", "watch");
	json_text(&json, "ended_by", watch->ended_by);
	json_real(&json, "start_unix", watch->start_unix, 6);
	json_real(&json, "seconds", seconds, 4);
	json_uint(&json, "samples", watch->samples);
	json_uint(&json, "peak_sock", watch->peak_sock);
	json_real(&json, "peak_at", to_seconds(watch->peak_nsec - watch->start_nsec), 4);
	json_real(&json, "mean_sock", watch->sum_sock / (double)watch->samples, 0);
	json_uint(&json, "last_sock", watch->last.sock);
	json_uint(&json, "peak_current", watch->peak_current);
	json_uint(&json, "peak_anon", watch->peak_anon);
	json_uint(&json, "oom_kills", watch->events.oom_kills - watch->first_events.oom_kills);
	write_limits(watch, &json);
	if (watch->v1) {
		json_uint(&json, "max_usage", watch->events.max_usage);
		json_uint(&json, "failcnt", watch->events.failcnt);
	}
	json_uint(&json, "missed", watch->missed);
	json_real(&json, "max_gap", to_seconds(watch->max_gap_nsec), 4);
	json_real(&json, "cpu_share", seconds > 0 ? busy / seconds : 0, 4);
	return json_end(&json);
}

static void count_sample(struct watch *watch, int64_t now, const struct cgroup_sample *sample)
{
	if (watch->samples > 0 && now - watch->last_nsec > watch->max_gap_nsec)
		watch->max_gap_nsec = now - watch->last_nsec;
	if (sample->sock > watch->peak_sock) {
		watch->peak_sock = sample->sock;
		watch->peak_nsec = now;
	}
	if (sample->current > watch->peak_current)
		watch->peak_current = sample->current;
	if (sample->anon > watch->peak_anon)
		watch->peak_anon = sample->anon;
	watch->sum_sock += (double)sample->sock;
	watch->last = *sample;
	watch->last_nsec = now;
	watch->samples++;
}

/* Samples until something ends it, and says what. */
static const char *sample_all(struct watch *watch)
{
	int64_t next = watch->start_nsec, next_events = 0;

	cgroup_read_events(&watch->cgroup, &watch->first_events);
	for (;;) {
		struct cgroup_sample sample;
		int64_t now = now_nsec();

		if (signalled())
			return "signal";
		if (watch->duration_nsec > 0 && now - watch->start_nsec >= watch->duration_nsec)
			return "duration";
		if (cgroup_sample(&watch->cgroup, &sample) < 0)
			return "gone";
		count_sample(watch, now, &sample);
		write_sample(watch, now, &sample);
		if (now >= next_events) {
			bool ended = cgroup_ended(&watch->cgroup);

			cgroup_read_events(&watch->cgroup, &watch->events);
			if (ended)
				return "empty";
			next_events = now + EVENTS_NSEC;
		}
		next += watch->interval_nsec;
		/* Late by more than an interval: go on from here, and say how often. */
		if (next <= now) {
			watch->missed += (uint64_t)((now - next) / watch->interval_nsec + 1);
			next = now + watch->interval_nsec;
		}
		sleep_to(next);
	}
}

static int run(struct watch *watch)
{
	int r = 0;

	if (watch->nice != 0 && setpriority(PRIO_PROCESS, 0, watch->nice) < 0) {
		complain("watch: --nice %d: %s", watch->nice, strerror(errno));
		return FAILED;
	}
	watch->file = watch->out ? fopen(watch->out, "we") : stdout;
	if (!watch->file) {
		complain("%s: %s", watch->out, strerror(errno));
		return FAILED;
	}
	if (wait_for_cgroup(watch) < 0) {
		if (watch->out)
			fclose(watch->file);
		return FAILED;
	}
	watch->start_nsec = watch->last_nsec = watch->peak_nsec = now_nsec();
	watch->start_unix = unix_seconds();
	write_header(watch);
	watch->ended_by = sample_all(watch);
	cgroup_read_events(&watch->cgroup, &watch->events);
	r = watch->samples > 0 ? write_summary(watch, watch->file) : -ENODATA;
	if (watch->out) {
		fclose(watch->file);
		if (r == 0)
			r = write_summary(watch, stdout);
	}
	cgroup_close(&watch->cgroup);
	if (r < 0)
		complain("watch: %s", r == -ENODATA ? "the cgroup went before the first sample" : strerror(-r));
	return r < 0 ? FAILED : DONE;
}

int verb_watch(int argc, char **argv)
{
	struct watch watch = {.interval_nsec = 5 * NSEC_PER_MSEC};

	switch (options_parse(&usage, &watch, argc, argv)) {
	case OPTIONS_HELP_SHOWN:
		return DONE;
	case OPTIONS_BAD:
		return USAGE;
	}
	if (!watch.path) {
		complain("watch: --cgroup is needed");
		return USAGE;
	}
	if (watch.interval_nsec < NSEC_PER_MSEC / 10) {
		complain("watch: --interval is at least 100us");
		return USAGE;
	}
	return run(&watch);
}
