/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams at a fixed rate, each with a number, so that the receiver can tell how many were lost. */
#include "json.h"
#include "meter.h"
#include "net.h"
#include "options.h"
#include "pace.h"
#include "util.h"
#include "verbs.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct udp {
	const char *to, *bind, *ready_file, *out;
	uint16_t port;
	int family;
	bool accept;
	uint64_t rate, size, rcvbuf;
	int64_t duration_nsec;

	struct meter meter;
	struct pace pace;
	uint64_t datagrams, highest, failures;
};

#define AT(field) offsetof(struct udp, field)

static const struct option_row rows[] = {
        {"accept", OPTION_FLAG, AT(accept), NULL, "receive and count"},
        {"to", OPTION_TEXT, AT(to), "ADDRESS", "send to this IPv4 or IPv6 literal"},
        {"port", OPTION_PORT, AT(port), "PORT", "UDP port"},
        {"bind", OPTION_TEXT, AT(bind), "ADDRESS", "receive on this address only"},
        {"family", OPTION_FAMILY, AT(family), "4|6", "receive on this family only (both)"},
        {"rate", OPTION_SIZE, AT(rate), "RATE", "bytes/s to send, or to read at most (sender 1M; receiver no limit)"},
        {"size", OPTION_SIZE, AT(size), "SIZE", "of a datagram, 8 to 65507 (1000)"},
        {"rcvbuf", OPTION_SIZE, AT(rcvbuf), "SIZE", "set SO_RCVBUF"},
        {"duration", OPTION_TIME, AT(duration_nsec), "TIME", "until a signal if not given"},
        {"ready-file", OPTION_TEXT, AT(ready_file), "FILE", "made when the socket is there"},
        {"out", OPTION_TEXT, AT(out), "FILE", "write the JSON here (stdout)"},
        {0},
};

static const struct verb_usage usage = {"udp", "datagrams at a rate", (const struct option_row *const[]){rows, NULL}};

static int open_sender(const struct udp *udp)
{
	struct address address;
	int fd, r;

	if (address_parse(udp->to, udp->port, &address) < 0) {
		complain("'%s' is neither an IPv4 nor an IPv6 address", udp->to);
		return -EINVAL;
	}
	fd = socket(address.sa.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, &address.sa.any, address.length) == 0)
		return fd;
	r = -errno;
	complain("udp: %s: %s", udp->to, strerror(-r));
	if (fd >= 0)
		close(fd);
	return r;
}

/* One datagram out, numbered from 1. False when the kernel takes no more now. */
static bool send_one(struct udp *udp, int fd, unsigned char *data, int64_t now)
{
	uint64_t number = htobe64(udp->datagrams + 1);

	memcpy(data, &number, sizeof number);
	if (send(fd, data, udp->size, 0) < 0) {
		/* ECONNREFUSED tells of an earlier one; the next may get through. */
		udp->failures += errno != EAGAIN;
		return false;
	}
	udp->datagrams++;
	pace_spend(&udp->pace, udp->size);
	meter_add(&udp->meter, now, udp->size);
	return true;
}

/* One datagram in. False when there is none. */
static bool receive_one(struct udp *udp, int fd, unsigned char *data, size_t room, int64_t now)
{
	ssize_t n = recv(fd, data, room, 0);
	uint64_t number;

	if (n < 0)
		return false;
	if (!udp->meter.running) {
		meter_start(&udp->meter, now);
	}
	if ((size_t)n >= sizeof number) {
		memcpy(&number, data, sizeof number);
		number = be64toh(number);
		if (number > udp->highest)
			udp->highest = number;
	}
	udp->datagrams++;
	pace_spend(&udp->pace, (size_t)n);
	meter_add(&udp->meter, now, (uint64_t)n);
	return true;
}

static void run_all(struct udp *udp, int fd)
{
	static unsigned char data[65536];
	int64_t start = now_nsec(), now = start;

	memset(data, 0x5a, sizeof data);
	pace_start(&udp->pace, (double)udp->rate, start);
	if (!udp->accept)
		meter_start(&udp->meter, start);
	while (!signalled() && (udp->duration_nsec == 0 || now - start < udp->duration_nsec)) {
		size_t need = udp->accept ? 1 : udp->size;
		bool going = true;

		now = now_nsec();
		pace_fill(&udp->pace, now);
		for (int i = 0; going && i < 256 && pace_allowed(&udp->pace, need) >= need; i++)
			going = udp->accept ? receive_one(udp, fd, data, sizeof data, now) : send_one(udp, fd, data, now);
		if (udp->accept && !going) {
			pace_idle(&udp->pace);
			poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 50);
		} else if (pace_allowed(&udp->pace, need) < need || !going) {
			nanosleep(&(struct timespec){.tv_nsec = TICK_NSEC}, NULL);
		}
	}
}

static int report(struct udp *udp)
{
	FILE *file = udp->out ? fopen(udp->out, "we") : stdout;
	struct json json;
	int r;

	if (!file) {
		complain("%s: %s", udp->out, strerror(errno));
		return -errno;
	}
	json_begin(&json, file);
	json_text(&json, "sockload", "udp");
	json_text(&json, "role", udp->accept ? "receiver" : "sender");
	json_uint(&json, "datagrams", udp->datagrams);
	if (udp->accept)
		json_int(&json, "missing", (int64_t)(udp->highest - udp->datagrams));
	else
		json_uint(&json, "failures", udp->failures);
	meter_report(&udp->meter, &json);
	r = json_end(&json);
	if (udp->out)
		fclose(file);
	return r;
}

static int run(struct udp *udp)
{
	int fd = udp->accept ? net_bind_udp(udp->bind, udp->family, udp->port) : open_sender(udp), r = 0;

	if (fd < 0)
		return FAILED;
	net_set_buffers(fd, udp->rcvbuf, 0);
	if (udp->ready_file)
		r = write_ready_file(udp->ready_file);
	if (r == 0) {
		run_all(udp, fd);
		r = report(udp);
	}
	meter_free(&udp->meter);
	close(fd);
	return r < 0 ? FAILED : DONE;
}

int verb_udp(int argc, char **argv)
{
	struct udp udp = {.size = 1000};

	switch (options_parse(&usage, &udp, argc, argv)) {
	case OPTIONS_HELP_SHOWN:
		return DONE;
	case OPTIONS_BAD:
		return USAGE;
	}
	if (udp.accept == (udp.to != NULL) || udp.port == 0) {
		complain("udp: --port and one of --to and --accept are needed");
		return USAGE;
	}
	if (udp.size < sizeof(uint64_t) || udp.size > 65507) {
		complain("udp: --size is 8 to 65507");
		return USAGE;
	}
	if (!udp.accept && udp.rate == 0)
		udp.rate = 1000000;
	return run(&udp);
}
