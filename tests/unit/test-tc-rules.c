/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets are bulk: real packets of every kind through real filters, told apart by which class counts them. And what the
 * classes do: bulk waits, the rest does not; a new rate drops nothing. Exits 77 where it may not make a network namespace. */
#include "tc-stage.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#define HEADER_BYTES 14 /* of Ethernet, which a class counts */

enum { ICMP = 1, TCP = 6, UDP = 17, SCTP = 132, HOP = 0, ROUTING = 43, FRAGMENT = 44, ESP = 50, OPTIONS = 60, ICMP6 = 58 };
enum { ACK = 0x10, SYN = 0x02 };

/* Bulk where the policy has only tcp and where it has udp too; only in the latter. */
enum bulk { NEVER, ALWAYS, WITH_UDP };

struct packet {
	const char *name;
	uint16_t ethertype;
	uint16_t bytes;    /* all of it, from the network header */
	uint8_t protocol;  /* of the payload */
	enum bulk bulk;    /* with which policy */
	uint8_t options;   /* IPv4: bytes of options */
	uint16_t fragment; /* IPv4: flags and offset; IPv6: the field of a fragment header */
	uint16_t behind;   /* IPv6: a header between, through BEHIND; 0: none */
	uint8_t flags;     /* of TCP; 0: ACK */
	uint16_t from, to; /* ports */
	bool zero_length;  /* the length field is 0: BIG TCP */
};

#define BEHIND(header) ((header) + 1)
#define V4(...)                                                                                                                  \
	{                                                                                                                        \
		.ethertype = ETH_P_IP, __VA_ARGS__                                                                               \
	}
#define V6(...)                                                                                                                  \
	{                                                                                                                        \
		.ethertype = ETH_P_IPV6, __VA_ARGS__                                                                             \
	}

/* clang-format off */
static const struct packet PACKETS[] = {
	V4(.name = "v4 data", .bytes = 1500, .protocol = TCP, .bulk = ALWAYS),
	V4(.name = "v4 data behind options", .bytes = 1500, .options = 40, .protocol = TCP, .bulk = ALWAYS),
	V4(.name = "v4 acknowledgement", .bytes = 52, .protocol = TCP),
	V4(.name = "v4 acknowledgement, all options", .bytes = 120, .options = 40, .protocol = TCP),
	V4(.name = "v4 short data", .bytes = 127, .protocol = TCP),
	V4(.name = "v4 not so short data", .bytes = 128, .protocol = TCP, .bulk = ALWAYS),
	V4(.name = "v4 SYN", .bytes = 60, .protocol = TCP, .flags = SYN),
	V4(.name = "v4 SYN with data", .bytes = 1400, .protocol = TCP, .flags = SYN),
	V4(.name = "v4 SYN and ACK with data", .bytes = 1400, .protocol = TCP, .flags = SYN | ACK),
	V4(.name = "v4 first fragment", .bytes = 1500, .fragment = 0x2000, .protocol = TCP, .bulk = ALWAYS),
	V4(.name = "v4 later fragment", .bytes = 1500, .fragment = 0x20b9, .protocol = TCP, .bulk = ALWAYS),
	V4(.name = "v4 later fragment with a SYN's look", .bytes = 1500, .fragment = 0x20b9, .protocol = TCP, .flags = SYN, .bulk = ALWAYS),
	V4(.name = "v4 last short fragment", .bytes = 60, .fragment = 0x00b9, .protocol = TCP),
	V4(.name = "v4 big TCP", .bytes = 1500, .zero_length = true, .protocol = TCP, .bulk = ALWAYS),
	V4(.name = "v4 datagram", .bytes = 1400, .protocol = UDP, .from = 443, .to = 40000, .bulk = WITH_UDP),
	V4(.name = "v4 short datagram", .bytes = 511, .protocol = UDP, .from = 443, .to = 40000),
	V4(.name = "v4 not so short datagram", .bytes = 512, .protocol = UDP, .from = 443, .to = 40000, .bulk = WITH_UDP),
	V4(.name = "v4 question to DNS", .bytes = 70, .protocol = UDP, .from = 40000, .to = 53),
	V4(.name = "v4 long question to DNS", .bytes = 900, .protocol = UDP, .from = 40000, .to = 53),
	V4(.name = "v4 long answer of DNS", .bytes = 1260, .protocol = UDP, .from = 53, .to = 40000),
	V4(.name = "v4 later fragment with DNS's look", .bytes = 1400, .fragment = 0x20b9, .protocol = UDP, .from = 53, .to = 53, .bulk = WITH_UDP),
	V4(.name = "v4 ping", .bytes = 84, .protocol = ICMP),
	V4(.name = "v4 full-size ping", .bytes = 1500, .protocol = ICMP),
	V4(.name = "v4 SCTP", .bytes = 1400, .protocol = SCTP),
	V6(.name = "v6 data", .bytes = 1500, .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 acknowledgement", .bytes = 72, .protocol = TCP),
	V6(.name = "v6 acknowledgement, all options", .bytes = 100, .protocol = TCP),
	V6(.name = "v6 short data", .bytes = 167, .protocol = TCP),
	V6(.name = "v6 not so short data", .bytes = 168, .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 SYN with data", .bytes = 1400, .protocol = TCP, .flags = SYN),
	V6(.name = "v6 data behind hop-by-hop options", .bytes = 1500, .behind = BEHIND(HOP), .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 data behind routing", .bytes = 1500, .behind = BEHIND(ROUTING), .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 data behind destination options", .bytes = 1500, .behind = BEHIND(OPTIONS), .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 first fragment", .bytes = 1500, .behind = BEHIND(FRAGMENT), .fragment = 0x0001, .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 later fragment", .bytes = 1500, .behind = BEHIND(FRAGMENT), .fragment = 0x0591, .protocol = TCP, .flags = SYN, .bulk = ALWAYS),
	V6(.name = "v6 big TCP with its length in options", .bytes = 1500, .behind = BEHIND(HOP), .zero_length = true, .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 big TCP without", .bytes = 1500, .zero_length = true, .protocol = TCP, .bulk = ALWAYS),
	V6(.name = "v6 datagram", .bytes = 1400, .protocol = UDP, .from = 443, .to = 40000, .bulk = WITH_UDP),
	V6(.name = "v6 datagram's fragment", .bytes = 1400, .behind = BEHIND(FRAGMENT), .fragment = 0x0591, .protocol = UDP, .from = 53, .to = 53, .bulk = WITH_UDP),
	V6(.name = "v6 short datagram", .bytes = 551, .protocol = UDP, .from = 443, .to = 40000),
	V6(.name = "v6 not so short datagram", .bytes = 552, .protocol = UDP, .from = 443, .to = 40000, .bulk = WITH_UDP),
	V6(.name = "v6 long answer of DNS", .bytes = 1272, .protocol = UDP, .from = 53, .to = 40000),
	V6(.name = "v6 long question to DNS", .bytes = 900, .protocol = UDP, .from = 40000, .to = 53),
	V6(.name = "v6 full-size ping", .bytes = 1500, .protocol = ICMP6),
	V6(.name = "v6 neighbour solicitation", .bytes = 72, .protocol = ICMP6),
	V6(.name = "v6 ESP", .bytes = 1400, .protocol = ESP),
	{.name = "ARP", .ethertype = ETH_P_ARP, .bytes = 28},
	{.name = "a large frame of another protocol", .ethertype = 0x88b5, .bytes = 1400, .protocol = TCP},
};
/* clang-format on */

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Ports, and where TCP has its flags. */
static void put_payload(uint8_t *at, const struct packet *packet)
{
	put16(at, packet->from);
	put16(at + 2, packet->to);
	if (packet->protocol == TCP) {
		at[12] = 0x50;
		at[13] = packet->flags ? packet->flags : ACK;
	}
}

static void put_packet(uint8_t *at, const struct packet *packet)
{
	bool has_header = packet->behind != 0;

	memset(at, 0, packet->bytes);
	if (packet->ethertype == ETH_P_IP) {
		at[0] = (uint8_t)(0x45 + packet->options / 4);
		put16(at + 2, packet->zero_length ? 0 : packet->bytes);
		put16(at + 6, packet->fragment);
		at[8] = 64;
		at[9] = packet->protocol;
		put_payload(at + 20 + packet->options, packet);
	} else if (packet->ethertype == ETH_P_IPV6) {
		at[0] = 0x60;
		put16(at + 4, packet->zero_length ? 0 : (uint16_t)(packet->bytes - 40));
		at[6] = has_header ? (uint8_t)(packet->behind - 1) : packet->protocol;
		at[7] = 64;
		if (has_header) {
			at[40] = packet->protocol;
			put16(at + 42, packet->fragment);
		}
		put_payload(at + (has_header ? 48 : 40), packet);
	}
}

static void send_packet(int fd, int ifindex, const struct packet *packet)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
	                         .sll_protocol = htons(packet->ethertype),
	                         .sll_ifindex = ifindex,
	                         .sll_halen = ETH_ALEN,
	                         .sll_addr = {2, 0, 0, 0, 0, 1}};
	uint8_t bytes[1600];

	put_packet(bytes, packet);
	assert_int_equal(sendto(fd, bytes, packet->bytes, 0, (void *)&to, sizeof(to)), packet->bytes);
}

static int open_packets(void)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_not_equal(fd, -1);
	return fd;
}

/* Nothing is sent there but by the test. */
static void quiet_veth(void)
{
	add_veth("e");
	host("sh -c 'echo 1 >/proc/sys/net/ipv6/conf/eh/disable_ipv6'");
	inside("sh -c 'echo 1 >/proc/sys/net/ipv6/conf/e/disable_ipv6'");
	usleep(20000);
}

static uint64_t sent_by(struct skm_rtnl *rtnl, int ifindex, uint32_t classid)
{
	struct skm_htb_class class;

	assert_done(skm_probe_htb_class(rtnl, ifindex, classid, &class, &trouble));
	return class.sent_bytes;
}

static void check_packet(int fd, int ifindex, const struct packet *packet, bool bulk)
{
	uint64_t bulk_before = sent_by(stage.ends.host, ifindex, SKM_TC_BULK);
	uint64_t small_before = sent_by(stage.ends.host, ifindex, SKM_TC_SMALL);
	uint64_t bulk_sent, small_sent;
	uint64_t bytes = packet->bytes + HEADER_BYTES;

	send_packet(fd, ifindex, packet);
	bulk_sent = sent_by(stage.ends.host, ifindex, SKM_TC_BULK) - bulk_before;
	small_sent = sent_by(stage.ends.host, ifindex, SKM_TC_SMALL) - small_before;
	if (bulk_sent != (bulk ? bytes : 0) || small_sent != (bulk ? 0 : bytes))
		fail_msg("%s: bulk sent %d bytes, the other class %d", packet->name, (int)bulk_sent, (int)small_sent);
}

static void test_classes(void **state)
{
	struct skm_tc_want want = {.ingress = 1250000000, .ingress_burst = 1 << 20};
	struct skm_tc_plan plan;
	int fd = open_packets();

	(void)state;
	quiet_veth();
	plan = plan_it();
	for (int udp = 0; udp < 2; udp++) {
		want.protocols = udp ? TCP_AND_UDP : TCP_ONLY;
		assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
		for (size_t i = 0; i < sizeof(PACKETS) / sizeof(*PACKETS); i++)
			check_packet(fd, plan.host_ifindex, &PACKETS[i],
			             PACKETS[i].bulk == ALWAYS || (udp && PACKETS[i].bulk == WITH_UDP));
		assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	}
	close(fd);
}

/* The bytes that pass the bulk class of the ifb when this packet comes in. */
static uint64_t redirected_of(int fd, int ifb, const struct packet *packet)
{
	uint64_t before = sent_by(stage.ends.inside, ifb, SKM_TC_BULK), sent = 0;

	send_packet(fd, (int)if_nametoindex("eh"), packet);
	/* the other end takes it in a soft interrupt */
	for (int tries = 0; tries < (packet->bulk ? 100 : 3) && sent == 0; tries++) {
		usleep(1000);
		sent = sent_by(stage.ends.inside, ifb, SKM_TC_BULK) - before;
	}
	return sent;
}

/* What is redirected is bulk, all of it and nothing else. */
static void test_redirection(void **state)
{
	struct skm_tc_want want = {.ingress = 1250000000, .ingress_burst = 1 << 20, .protocols = TCP_AND_UDP};
	int fd = open_packets(), ifb = 0;
	struct skm_link *links = NULL;
	struct skm_tc_plan plan;
	size_t count;

	(void)state;
	quiet_veth();
	host("tc qdisc add dev eh root handle 1: htb");
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_IFB);
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
	assert_done(skm_probe_links(stage.ends.inside, 16, &links, &count, &trouble));
	for (size_t i = 0; i < count; i++)
		if (skm_tc_is_our_ifb(&links[i]))
			ifb = links[i].ifindex;
	free(links);
	for (size_t i = 0; i < sizeof(PACKETS) / sizeof(*PACKETS); i++) {
		uint64_t wanted = PACKETS[i].bulk ? (uint64_t)PACKETS[i].bytes + HEADER_BYTES : 0, sent = wanted + 1;

		/* the kernel's own packets (router solicitations of a link that has just come up) may fall between: then once
		 * more */
		for (int tries = 0; tries < 3 && sent != wanted; tries++)
			sent = redirected_of(fd, ifb, &PACKETS[i]);
		if (sent != wanted)
			fail_msg("%s: %d bytes were redirected", PACKETS[i].name, (int)sent);
	}
	close(fd);
}

/* 40 full packets stand at 100 packets a second; the ping beside them does not wait, and a new rate lets all of them out. */
static void test_waiting(void **state)
{
	struct skm_tc_want want = {.ingress = 151400, .ingress_burst = 1514, .protocols = TCP_ONLY};
	const struct packet *data = &PACKETS[0], *ping = NULL;
	struct skm_tc_plan plan;
	struct skm_tc_look look;
	uint64_t before;
	int fd = open_packets();

	(void)state;
	for (size_t i = 0; i < sizeof(PACKETS) / sizeof(*PACKETS); i++)
		if (strcmp(PACKETS[i].name, "v4 full-size ping") == 0)
			ping = &PACKETS[i];
	assert_non_null(ping);
	quiet_veth();
	plan = plan_it();
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
	for (int i = 0; i < 40; i++)
		send_packet(fd, plan.host_ifindex, data);
	before = sent_by(stage.ends.host, plan.host_ifindex, SKM_TC_SMALL);
	send_packet(fd, plan.host_ifindex, ping);
	assert_int_equal(sent_by(stage.ends.host, plan.host_ifindex, SKM_TC_SMALL) - before, 1514);
	assert_done(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble));
	assert_in_range(look.seen.backlog_bytes, 20 * 1514, 39 * 1514);
	assert_int_equal(look.seen.sent_bytes + look.seen.backlog_bytes, 40 * 1514);
	assert_int_equal(look.seen.rate, 151400);
	want.ingress = 15140000;
	assert_done(skm_actuate_tc_update(&stage.ends, &plan, &want, &trouble));
	for (int tries = 0; tries < 100 && look.seen.backlog_bytes > 0; tries++) {
		usleep(1000);
		assert_done(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble));
	}
	assert_int_equal(look.seen.sent_bytes, 40 * 1514);
	assert_int_equal(look.seen.drops, 0);
	/* and what still stands when it is removed gets out too */
	want.ingress = 151400;
	assert_done(skm_actuate_tc_update(&stage.ends, &plan, &want, &trouble));
	{
		struct skm_link link;
		uint64_t received;

		assert_done(skm_probe_link(stage.ends.inside, plan.links[0], &link, &trouble));
		received = link.rx_bytes;
		for (int i = 0; i < 40; i++)
			send_packet(fd, plan.host_ifindex, data);
		assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
		assert_done(skm_probe_link(stage.ends.inside, plan.links[0], &link, &trouble));
		assert_int_equal(link.rx_bytes - received, 40 * 1514);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_classes, set_up_container, tear_down_container),
	        cmocka_unit_test_setup_teardown(test_redirection, set_up_container, tear_down_container),
	        cmocka_unit_test_setup_teardown(test_waiting, set_up_container, tear_down_container),
	};

	skm_test_enter_new_netns();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
