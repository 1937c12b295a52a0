/* SPDX-License-Identifier: Apache-2.0 */
/* A container's network namespace beside the test's own, which stands for the host's. Links are made by each test. */
#ifndef SKM_TC_STAGE_H
#define SKM_TC_STAGE_H

#include "skm-test.h"
#include "skm-netns.h"

#include "actuate/tc_parts.h"
#include "base/io.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* What a function of the module under test said. */
static struct skm_err trouble;

static struct {
	pid_t container; /* sleeps in its namespace */
	int netns_fd;
	struct skm_tc_ends ends;
} stage = {.netns_fd = -1};

/* Runs a shell command, here or in the container. Returns its exit status. */
__attribute__((format(printf, 2, 3))) static inline int try_run(bool inside, const char *format, ...)
{
	char command[1024], line[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (inside)
		snprintf(line, sizeof(line), "nsenter --net=/proc/%d/ns/net %s", (int)stage.container, command);
	else
		snprintf(line, sizeof(line), "%s", command);
	return system(line);
}

#define host(...) assert_int_equal(try_run(false, __VA_ARGS__), 0)
#define inside(...) assert_int_equal(try_run(true, __VA_ARGS__), 0)

/* What a command prints. The caller frees it. */
static inline char *output_of(bool in_container, const char *command)
{
	char line[1200], *text = NULL;
	size_t length;
	FILE *pipe;

	if (in_container)
		snprintf(line, sizeof(line), "nsenter --net=/proc/%d/ns/net %s", (int)stage.container, command);
	else
		snprintf(line, sizeof(line), "%s", command);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	assert_int_equal(skm_read_to_end(fileno(pipe), 1 << 20, &text, &length), 0);
	assert_int_equal(pclose(pipe), 0);
	return text;
}

/* All that tc knows in a namespace, without counters. The caller frees it. */
static inline char *tc_text(bool in_container)
{
	return output_of(
	        in_container,
	        "sh -c '(tc qdisc show; for d in $(ls /proc/sys/net/ipv4/conf); do case $d in all|default) continue;; esac; "
	        "for p in \"\" \"parent ffff:fff2\" \"parent ffff:fff3\"; do tc filter show dev $d $p; done; tc class show dev "
	        "$d; done 2>/dev/null; ip -o link show type ifb) | sed \"s/direct_packets_stat [0-9]*//\"'");
}

static inline void start_container(void)
{
	char path[64];
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	stage.container = fork();
	if (stage.container == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) == 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)stage.container);
	stage.netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_not_equal(stage.netns_fd, -1);
}

static int set_up_container(void **state)
{

	(void)state;
	start_container();
	inside("ip link set lo up");
	if (skm_actuate_tc_open(stage.netns_fd, &stage.ends, &trouble) < 0)
		fail_msg("%s", trouble.text);
	return 0;
}

/* The namespace goes with its last process and descriptor, and the host's ends of its veths with it. */
static int tear_down_container(void **state)
{
	(void)state;
	skm_actuate_tc_close(&stage.ends);
	close(stage.netns_fd);
	kill(stage.container, SIGKILL);
	waitpid(stage.container, NULL, 0);
	for (int i = 0; i < 500 && try_run(false, "ip link show type veth | grep -q .") == 0; i++)
		usleep(10000);
	return 0;
}

/* A veth between the two: `name`h here, `name` in the container. */
static inline void add_veth(const char *name)
{
	host("ip link add name %sh type veth peer name %s netns %d", name, name, (int)stage.container);
	host("ip link set %sh up", name);
	inside("ip link set %s up", name);
}

static inline struct skm_tc_plan plan_it(void)
{
	struct skm_tc_plan plan;

	if (skm_actuate_tc_plan(&stage.ends, &plan, &trouble) < 0)
		fail_msg("%s", trouble.text);
	return plan;
}

#define assert_done(call)                                                                                                        \
	do {                                                                                                                     \
		if ((call) < 0)                                                                                                  \
			fail_msg("%s: %s", #call, trouble.text);                                                                 \
	} while (0)

#define TCP_ONLY (UINT32_C(1) << SKM_PROTOCOL_TCP)
#define TCP_AND_UDP (TCP_ONLY | UINT32_C(1) << SKM_PROTOCOL_UDP)

#endif
