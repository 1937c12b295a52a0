/* SPDX-License-Identifier: Apache-2.0 */
/* Request and response over one connection: how long a neighbour, or a quiet connection, waits. */
#include "json.h"
#include "net.h"
#include "options.h"
#include "util.h"
#include "verbs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct echo {
	const char *to, *out;
	uint16_t port;
	uint64_t size, count;
	int64_t interval_nsec, duration_nsec, retry_nsec, timeout_nsec;
};

#define AT(field) offsetof(struct echo, field)

static const struct option_row rows[] = {
        {"to", OPTION_TEXT, AT(to), "ADDRESS", "IPv4 or IPv6 literal"},
        {"connect", OPTION_TEXT, AT(to), "ADDRESS", NULL},
        {"port", OPTION_PORT, AT(port), "PORT", "the --echo-port of a `sockload serve`"},
        {"size", OPTION_SIZE, AT(size), "SIZE", "of a request and of its answer (64)"},
        {"count", OPTION_COUNT, AT(count), "N", "round trips (1000)"},
        {"interval", OPTION_TIME, AT(interval_nsec), "TIME", "between two requests (none)"},
        {"duration", OPTION_TIME, AT(duration_nsec), "TIME", "end after this, even before --count"},
        {"retry", OPTION_TIME, AT(retry_nsec), "TIME", "patience with a listener that is not there yet (10s)"},
        {"timeout", OPTION_TIME, AT(timeout_nsec), "TIME", "an answer later than this is a failure (10s)"},
        {"out", OPTION_TEXT, AT(out), "FILE", "write the JSON here (stdout)"},
        {0},
};

static const struct verb_usage usage = {"echo", "request and response", (const struct option_row *const[]){rows, NULL}};

struct round_trips {
	uint64_t *usec;
	size_t n;
	uint64_t wrong; /* answers that were not what was sent */
	double seconds;
};

/* Waits until fd is ready, at most up to `deadline`. 0 or a negative errno. */
static int wait_ready(int fd, short events, int64_t deadline)
{
	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = events};
		int64_t left = deadline - now_nsec();

		if (signalled())
			return -EINTR;
		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&poll_fd, 1, (int)min_i64(left / NSEC_PER_MSEC + 1, 100)) > 0)
			return 0;
	}
}

static int dial_once(const struct address *address, int64_t deadline)
{
	int fd = net_dial(address), r;

	if (fd < 0)
		return fd;
	r = wait_ready(fd, POLLOUT, deadline);
	if (r == 0)
		r = net_dial_result(fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	net_set_nodelay(fd);
	return fd;
}

static int dial(const struct echo *echo)
{
	int64_t end = now_nsec() + echo->retry_nsec;
	struct address address;
	int fd;

	if (address_parse(echo->to, echo->port, &address) < 0) {
		complain("'%s' is neither an IPv4 nor an IPv6 address", echo->to);
		return -EINVAL;
	}
	for (;;) {
		fd = dial_once(&address, now_nsec() + echo->timeout_nsec);
		if (fd >= 0 || fd == -EINTR || now_nsec() >= end)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 50 * NSEC_PER_MSEC}, NULL);
	}
	if (fd < 0)
		complain("no connection to %s port %u: %s", echo->to, echo->port, strerror(-fd));
	return fd;
}

/* Sends all of it, or receives all of it. */
static int move_all(int fd, char *data, size_t size, bool sends, int64_t deadline)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = sends ? send(fd, data + done, size - done, MSG_NOSIGNAL) : recv(fd, data + done, size - done, 0);
		int r;

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == 0)
			return -ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = wait_ready(fd, sends ? POLLOUT : POLLIN, deadline);
		if (r < 0)
			return r;
	}
	return 0;
}

static int one_trip(const struct echo *echo, int fd, char *request, char *answer, struct round_trips *trips)
{
	int64_t start = now_nsec(), deadline = start + echo->timeout_nsec;
	int r;

	memset(request, (int)(trips->n % 251), echo->size);
	r = move_all(fd, request, echo->size, true, deadline);
	if (r == 0)
		r = move_all(fd, answer, echo->size, false, deadline);
	if (r < 0)
		return r;
	trips->wrong += memcmp(request, answer, echo->size) != 0;
	trips->usec[trips->n++] = (uint64_t)((now_nsec() - start) / 1000);
	return 0;
}

/* 0, or a negative errno of the trip that failed. */
static int make_trips(const struct echo *echo, int fd, char *request, char *answer, struct round_trips *trips)
{
	int64_t start = now_nsec(), next = start;
	int r = 0;

	while (r == 0 && trips->n < echo->count && !signalled()) {
		if (echo->duration_nsec > 0 && now_nsec() - start >= echo->duration_nsec)
			break;
		r = one_trip(echo, fd, request, answer, trips);
		next += echo->interval_nsec;
		while (echo->interval_nsec > 0 && !signalled() && now_nsec() < next) {
			int64_t left = min_i64(next - now_nsec(), 50 * NSEC_PER_MSEC);

			if (left > 0)
				nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
		}
	}
	trips->seconds = to_seconds(now_nsec() - start);
	return r == -EINTR ? 0 : r;
}

static int report(const struct echo *echo, struct round_trips *trips, int error)
{
	FILE *file = echo->out ? fopen(echo->out, "we") : stdout;
	struct json json;
	uint64_t sum = 0;
	int r;

	if (!file) {
		complain("%s: %s", echo->out, strerror(errno));
		return -errno;
	}
	for (size_t i = 0; i < trips->n; i++)
		sum += trips->usec[i];
	sort_u64(trips->usec, trips->n);
	json_begin(&json, file);
	json_text(&json, "sockload", "echo");
	json_uint(&json, "n", trips->n);
	json_uint(&json, "size", echo->size);
	json_real(&json, "seconds", trips->seconds, 6);
	json_real(&json, "mean_usec", trips->n > 0 ? (double)sum / (double)trips->n : 0, 1);
	json_uint(&json, "p50_usec", percentile(trips->usec, trips->n, 50));
	json_uint(&json, "p90_usec", percentile(trips->usec, trips->n, 90));
	json_uint(&json, "p99_usec", percentile(trips->usec, trips->n, 99));
	json_uint(&json, "max_usec", percentile(trips->usec, trips->n, 100));
	json_uint(&json, "wrong", trips->wrong);
	json_text(&json, "error", error < 0 ? strerror(-error) : "");
	r = json_end(&json);
	if (echo->out)
		fclose(file);
	return r;
}

static int run(const struct echo *echo)
{
	struct round_trips trips = {.usec = calloc(echo->count, sizeof *trips.usec)};
	char *request = malloc(echo->size), *answer = malloc(echo->size);
	int fd = -1, r = -ENOMEM;

	if (!trips.usec || !request || !answer)
		complain("not enough memory");
	else
		fd = r = dial(echo);
	if (fd >= 0) {
		int error = make_trips(echo, fd, request, answer, &trips);

		if (error < 0)
			complain("echo: round trip %zu: %s", trips.n + 1, strerror(-error));
		r = report(echo, &trips, error);
		r = r < 0 ? r : error;
		close(fd);
	}
	free(answer);
	free(request);
	free(trips.usec);
	return r < 0 || trips.wrong > 0 ? FAILED : DONE;
}

int verb_echo(int argc, char **argv)
{
	struct echo echo = {.size = 64, .count = 1000, .retry_nsec = 10 * NSEC_PER_SEC, .timeout_nsec = 10 * NSEC_PER_SEC};

	switch (options_parse(&usage, &echo, argc, argv)) {
	case OPTIONS_HELP_SHOWN:
		return DONE;
	case OPTIONS_BAD:
		return USAGE;
	}
	if (!echo.to || echo.port == 0) {
		complain("echo: --to and --port are needed");
		return USAGE;
	}
	if (echo.size < 1 || echo.size > 16u << 20 || echo.count < 1 || echo.count > 10000000) {
		complain("echo: --size is 1 to 16Mi, --count is 1 to 10000000");
		return USAGE;
	}
	return run(&echo);
}
