/* SPDX-License-Identifier: Apache-2.0 */
/* Real loopback connections in a network namespace of its own; exits 77 where it may not make one. */
#include "skm-test.h"
#include "skm-netns.h"

#include "base/cleanup.h"
#include "probe/sock_diag.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PAIRS 40

struct connection {
	int client, server;
};

/* family: of the listener. mapped: the client is IPv4 all the same. */
static int make_listener(int family, struct sockaddr_in6 *ret_address)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6};
	struct sockaddr_in address4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool six = family == AF_INET6;

	assert_int_equal(bind(fd, six ? (void *)&address : (void *)&address4, six ? sizeof(address) : sizeof(address4)), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (void *)ret_address, &length), 0);
	return fd;
}

static struct connection connect_pair(int listener, const struct sockaddr_in6 *address, int family)
{
	struct sockaddr_in to4 = {
	        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = address->sin6_port};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = address->sin6_port};
	struct connection pair = {.client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	if (family == AF_INET)
		assert_int_equal(connect(pair.client, (void *)&to4, sizeof(to4)), 0);
	else
		assert_int_equal(connect(pair.client, (void *)&to6, sizeof(to6)), 0);
	pair.server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(pair.server, -1);
	return pair;
}

static void close_pair(struct connection *pair)
{
	const struct linger reset = {.l_onoff = 1}; /* leaves no TIME_WAIT for the next test */

	setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(pair->client);
	close(pair->server);
}

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length), 0);
	return cookie;
}

static const struct skm_diag_socket *find(const struct skm_diag_socket *sockets, size_t count, int fd)
{
	uint64_t cookie = cookie_of(fd);
	const struct skm_diag_socket *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (sockets[i].cookie != cookie)
			continue;
		assert_null(found); /* each once */
		found = &sockets[i];
	}
	return found;
}

static void check(const struct skm_diag_socket *sockets, size_t count, int fd)
{
	const struct skm_diag_socket *one = find(sockets, count, fd);
	uint32_t rcvbuf, sndbuf;
	socklen_t length = sizeof(rcvbuf);
	struct stat stat;

	assert_non_null(one);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &length), 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, &length), 0);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(one->rcvbuf, rcvbuf);
	assert_int_equal(one->sndbuf, sndbuf);
	assert_int_equal(one->inode, stat.st_ino);
	assert_int_equal(one->state, TCP_ESTABLISHED);
}

static struct skm_diag_socket *dump(size_t *count)
{
	struct skm_diag_socket *sockets = NULL;
	struct skm_err err = SKM_ERR_INIT;

	if (skm_probe_sock_diag(NULL, &sockets, count, &err) != 0)
		fail_msg("%s", err.text);
	return sockets;
}

static size_t count_sockets(void)
{
	size_t count = 99;

	free(dump(&count));
	return count;
}

static void test_none(void **state)
{
	(void)state;
	assert_int_equal(count_sockets(), 0);
}

/* IPv4, IPv6 and IPv4-mapped ones, each end once, with the values that the sockets themselves tell. */
static void test_values(void **state)
{
	static const int LISTENERS[] = {AF_INET, AF_INET6, AF_INET6}, CLIENTS[] = {AF_INET, AF_INET6, AF_INET};
	struct connection pairs[3];
	int listeners[3], size = 50000;
	struct sockaddr_in6 address;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		listeners[i] = make_listener(LISTENERS[i], &address);
		pairs[i] = connect_pair(listeners[i], &address, CLIENTS[i]);
	}
	assert_int_equal(setsockopt(pairs[1].server, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	{
		cleanup_free struct skm_diag_socket *sockets = dump(&count);

		assert_int_equal(count, 6); /* and no listener */
		for (int i = 0; i < 3; i++) {
			check(sockets, count, pairs[i].client);
			check(sockets, count, pairs[i].server);
			assert_null(find(sockets, count, listeners[i]));
		}
		assert_int_equal(find(sockets, count, pairs[1].server)->rcvbuf, 100000);
	}
	for (int i = 0; i < 3; i++) {
		close_pair(&pairs[i]);
		close(listeners[i]);
	}
}

/* Unread data is the receiver's, and a connection that nobody has accepted has no inode. */
static void test_queued_and_unaccepted(void **state)
{
	struct sockaddr_in6 address;
	int listener = make_listener(AF_INET, &address);
	struct connection pair = connect_pair(listener, &address, AF_INET);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = address.sin6_port};
	int waiting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char data[10000] = {0};
	size_t count = 0, orphans = 0;

	(void)state;
	assert_int_equal(connect(waiting, (void *)&to, sizeof(to)), 0);
	assert_int_equal(send(pair.client, data, sizeof(data), 0), sizeof(data));
	{
		cleanup_free struct skm_diag_socket *sockets = dump(&count);

		assert_int_equal(count, 4);
		assert_true(find(sockets, count, pair.server)->rmem_alloc >= sizeof(data));
		assert_int_equal(find(sockets, count, pair.server)->unread_bytes, sizeof(data));
		assert_int_equal(find(sockets, count, pair.client)->unread_bytes, 0);
		assert_int_equal(find(sockets, count, pair.client)->rmem_alloc, 0);
		for (size_t i = 0; i < count; i++)
			orphans += sockets[i].inode == 0;
		assert_int_equal(orphans, 1);
	}
	close(listener);
	close(waiting);
	close_pair(&pair);
}

static void test_many_and_time_wait(void **state)
{
	struct connection pairs[PAIRS];
	struct sockaddr_in6 address;
	int listener = make_listener(AF_INET, &address);

	(void)state;
	for (int i = 0; i < PAIRS; i++)
		pairs[i] = connect_pair(listener, &address, AF_INET);
	assert_int_equal(count_sockets(), 2 * PAIRS);
	for (int i = 1; i < PAIRS; i++)
		close_pair(&pairs[i]);
	/* one closed in order, which leaves a TIME_WAIT: not a socket any more */
	close(pairs[0].client);
	close(pairs[0].server);
	assert_int_equal(count_sockets(), 0);
	close(listener);
}

static size_t count_of(const uint64_t *ids, size_t count)
{
	const struct skm_diag_cgroups only = {ids, count};
	cleanup_free struct skm_diag_socket *sockets = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t found = 99;

	if (skm_probe_sock_diag(&only, &sockets, &found, &err) != 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < found; i++)
		assert_non_null(memmem(ids, count * sizeof(*ids), &sockets[i].cgroup_id, sizeof(*ids)));
	return found;
}

/* By cgroup, at every place of a long or a short list; a list beyond what the kernel is given is sorted out here. */
static void test_only_some_cgroups(void **state)
{
	struct sockaddr_in6 address;
	int listener = make_listener(AF_INET, &address);
	struct connection pair = connect_pair(listener, &address, AF_INET);
	size_t count = 0;
	struct skm_diag_socket *all = dump(&count);
	uint64_t ours = all[0].cgroup_id;

	(void)state;
	free(all);
	assert_int_equal(count, 2);
	assert_int_not_equal(ours, 0);
	for (size_t length = 0; length <= 100; length = length * 2 + 1) {
		uint64_t ids[100];

		for (size_t at = 0; at <= length && length > 0; at++) {
			/* ascending, and ours at place `at`, or nowhere */
			for (size_t i = 0; i < length; i++)
				ids[i] = i < at ? (ours > at ? ours - at + i : 0) : ours + i - at + (at == length);
			assert_int_equal(count_of(ids, length), at < length ? 2 : 0);
		}
		if (length == 0)
			assert_int_equal(count_of(ids, 0), 0);
	}
	close_pair(&pair);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_none),
	        cmocka_unit_test(test_values),
	        cmocka_unit_test(test_only_some_cgroups),
	        cmocka_unit_test(test_queued_and_unaccepted),
	        cmocka_unit_test(test_many_and_time_wait),
	};

	skm_test_enter_new_netns();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
