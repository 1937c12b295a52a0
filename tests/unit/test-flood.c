/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant who opens and closes sockets as fast as it can: the cap follows them, writes and events stay bounded. */
#include "enforcer-stage.h"

#define MANY 600
#define SECONDS 6

static int crowd[MANY];

/* A listening socket is one in use. */
static void open_crowd(void)
{
	for (int i = 0; i < MANY; i++) {
		crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(crowd[i] >= 0);
		assert_int_equal(listen(crowd[i], 1), 0);
	}
}

static void close_crowd(void)
{
	for (int i = 0; i < MANY; i++)
		close(crowd[i]);
}

static uint64_t standing_rmem_max(void)
{
	char text[64];
	uint64_t values[3];

	assert_true(skm_read_text_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_rmem", text, sizeof(text)) > 0);
	text[strcspn(text, "\n")] = '\0';
	assert_int_equal(skm_probe_triple(text, values), 0);
	return values[2];
}

/* Some looks with that many sockets; the cap that stands is never above what they are due but by its grain. */
static void look(uint64_t *sock_bytes)
{
	for (int i = 0; i < 5; i++) {
		uint64_t looks = report()->stat_reads;

		*sock_bytes =
		        *sock_bytes > LIMIT * 80 / 100 ? LIMIT * 72 / 100 : *sock_bytes + LIMIT / 50; /* growth hastens looks */
		put_sock(*sock_bytes);
		skm_registry_run(stage.registry, skm_now_usec());
		if (report()->stat_reads > looks && report()->decision.fair_cap_bytes < UINT64_MAX)
			assert_true(standing_rmem_max() <= report()->decision.fair_cap_bytes * 8 / 7 + 1);
		usleep(4000);
	}
}

static void test_a_flood_of_sockets(void **state)
{
	uint64_t end_usec, sock_bytes = LIMIT * 75 / 100, writes, looks;
	unsigned int rounds = 0;

	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	put_sock(sock_bytes);
	run_until(SKM_STEP_CAP);
	writes = report()->sysctl_writes;
	looks = report()->stat_reads;
	for (end_usec = skm_now_usec() + SECONDS * SKM_USEC_PER_SEC; skm_now_usec() < end_usec; rounds++) {
		open_crowd();
		look(&sock_bytes);
		close_crowd();
		look(&sock_bytes);
	}
	writes = report()->sysctl_writes - writes;
	looks = report()->stat_reads - looks;
	printf("%u rounds, %llu looks, %llu writes, %u events\n", rounds, (unsigned long long)looks, (unsigned long long)writes,
	       report()->events);
	assert_true(rounds > 3 * SECONDS && looks > 3 * SECONDS);
	assert_true(writes >= 3 && writes <= 5 * SECONDS);
	assert_true(report()->events <= 3 + 3 * SKM_EVENTS_IN_WINDOW);
}

static int count(enum skm_event_kind kind)
{
	const struct skm_container *container = skm_registry_first(stage.registry);
	int found = 0;

	for (uint32_t i = 0; i < skm_registry_event_count(container); i++)
		found += skm_registry_event(container, i)->kind == kind;
	return found;
}

static void test_a_flood_of_events(void **state)
{
	struct skm_container *container;

	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	container = skm_registry_head(stage.registry);
	for (int i = 0; i < 1000; i++)
		skm_container_tell(container, SKM_EVENT_FOREIGN, "someone's value %d", i);
	for (int i = 0; i < 100; i++)
		skm_container_tell(container, SKM_EVENT_POLICY, "the administrator's %d", i);
	assert_int_equal(count(SKM_EVENT_FOREIGN), SKM_EVENTS_IN_WINDOW); /* the first */
	assert_int_equal(count_events(SKM_EVENT_FOREIGN, "someone's value 0"), 1);
	assert_int_equal(count(SKM_EVENT_POLICY), 100);
	skm_container_tell_left_out(container, UINT64_MAX);
	assert_int_equal(count_events(SKM_EVENT_FOREIGN, "968 more of this kind were left out"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_a_flood_of_sockets),
	        STAGED(test_a_flood_of_events),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
