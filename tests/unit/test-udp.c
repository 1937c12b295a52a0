/* SPDX-License-Identifier: Apache-2.0 */
/* Lost datagrams: as the kernel's files say it, and as a container's report shows them. */
#include "enforcer-stage.h"

#include "probe/udp_drops.h"

#define SENT 2000

static const char SNMP[] = "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
                           "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti "
                           "MemErrors\nUdp: 35923 1 2 35926 3 4 5 6 7\n"
                           "UdpLite: InDatagrams RcvbufErrors\nUdpLite: 8 9\n";

static void test_snmp(void **state)
{
	uint64_t value = 99;

	(void)state;
	assert_int_equal(skm_probe_snmp_value(SNMP, "Udp", "InDatagrams", &value), 0);
	assert_int_equal(value, 35923);
	assert_int_equal(skm_probe_snmp_value(SNMP, "Udp", "RcvbufErrors", &value), 0);
	assert_int_equal(value, 3);
	assert_int_equal(skm_probe_snmp_value(SNMP, "Udp", "MemErrors", &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(skm_probe_snmp_value(SNMP, "UdpLite", "RcvbufErrors", &value), 0);
	assert_int_equal(value, 9);
	assert_int_equal(skm_probe_snmp_value(SNMP, "UdpLite", "MemErrors", &value), -ENOENT); /* before 5.11 */
	assert_int_equal(skm_probe_snmp_value(SNMP, "Udp", "Errors", &value), -ENOENT);
	assert_int_equal(skm_probe_snmp_value(SNMP, "Tcp", "InSegs", &value), -ENOENT);
	assert_int_equal(value, 9);
}

/* Of a cut text no number is taken that is not whole. */
static void test_snmp_cut_anywhere(void **state)
{
	(void)state;
	for (size_t length = 0; length < sizeof(SNMP); length++) {
		char cut[sizeof(SNMP)];
		uint64_t value = 99;
		int r;

		memcpy(cut, SNMP, length);
		cut[length] = '\0';
		r = skm_probe_snmp_value(cut, "Udp", "MemErrors", &value);
		assert_true(r == 0 ? value == 7 : value == 99);
	}
}

static void test_snmp6(void **state)
{
	static const char TEXT[] =
	        "Udp6InErrors                    \t4\nUdp6RcvbufErrors\t17\nUdp6RcvbufErrors2 \t1\nUdp6MemErrors \tx\n";
	uint64_t value = 99;

	(void)state;
	assert_int_equal(skm_probe_snmp6_value(TEXT, "Udp6RcvbufErrors", &value), 0);
	assert_int_equal(value, 17);
	assert_int_equal(skm_probe_snmp6_value(TEXT, "Udp6InErrors", &value), 0);
	assert_int_equal(value, 4);
	assert_int_equal(skm_probe_snmp6_value(TEXT, "Udp6In", &value), -ENOENT);
	assert_int_equal(skm_probe_snmp6_value(TEXT, "Udp6MemErrors", &value), -EINVAL);
	assert_int_equal(value, 4);
}

/* How many of SENT datagrams to a socket that nobody reads were lost. */
static uint64_t lose_some(int family)
{
	struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
	socklen_t size = sizeof(address);
	int to = socket(family, SOCK_DGRAM | SOCK_NONBLOCK, 0), from = socket(family, SOCK_DGRAM, 0), small = 4096;
	uint64_t got = 0;
	char byte = 'x';

	if (family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
	assert_int_equal(setsockopt(to, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	assert_int_equal(bind(to, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(to, (struct sockaddr *)&address, &size), 0);
	for (int i = 0; i < SENT; i++)
		assert_int_equal(sendto(from, &byte, 1, 0, (struct sockaddr *)&address, size), 1);
	while (recv(to, &byte, 1, 0) == 1)
		got++;
	close(to);
	close(from);
	assert_in_range(got, 1, SENT - 1);
	return SENT - got;
}

static void refresh(void)
{
	skm_registry_refresh(stage.registry, skm_registry_first(stage.registry));
}

static void test_a_containers_losses(void **state)
{
	uint64_t lost;

	(void)state;
	lose_some(AF_INET); /* before it came: none of its own */
	register_plain("web", SKM_MODE_OBSERVE);
	refresh();
	assert_int_equal(report()->udp_rcvbuf_errors, 0);
	lost = lose_some(AF_INET);
	refresh();
	assert_int_equal(report()->udp_rcvbuf_errors, lost);
	assert_int_equal(report()->udp_mem_errors, 0);
	lost += lose_some(AF_INET6);
	refresh();
	assert_int_equal(report()->udp_rcvbuf_errors, lost);
}

/* In a namespace that is the host's whose losses they are is not known. */
static void test_a_namespace_of_others(void **state)
{
	struct skm_host host = *skm_registry_host(stage.registry);
	struct stat st;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	host.netns_inode = st.st_ino;
	skm_registry_close(stage.registry, false);
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &host, dup(stage.journal), dup(stage.ended), NULL), 0);
	register_plain("web", SKM_MODE_OBSERVE);
	lose_some(AF_INET);
	refresh();
	assert_true(report()->udp_rcvbuf_errors == UINT64_MAX);
	assert_true(report()->udp_mem_errors == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_snmp),
	        cmocka_unit_test(test_snmp_cut_anywhere),
	        cmocka_unit_test(test_snmp6),
	        cmocka_unit_test_setup_teardown(test_a_containers_losses, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_namespace_of_others, set_up, tear_down),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
