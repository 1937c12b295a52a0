/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "base/clock.h"
#include "cli.h"
#include "format.h"

#include <stdio.h>

typedef unsigned long long ull;

static void print_heading(const struct skm_report *report)
{
	char age[SKM_FORMAT_MAX], when[SKM_FORMAT_MAX];

	fputs("Container ", stdout);
	skm_cli_put(report->id);
	if (report->ended)
		printf(": ended %s, after %s\n", skm_cli_time(report->ended_realtime_usec, when),
		       skm_cli_age(report->started_realtime_usec, report->ended_realtime_usec, age));
	else
		printf(": running, pid %d, for %s\n", (int)report->pid,
		       skm_cli_age(report->started_realtime_usec, skm_realtime_usec(), age));
}

/* The answer to "is it the sockets?", from the peak where the container is gone. */
static void print_verdict(const struct skm_report *report)
{
	uint64_t sock = report->ended ? report->sock_peak_bytes : report->sock_bytes;
	const char *pod = report->policy.scope == SKM_SCOPE_POD ? "pod's " : "";
	char bytes[SKM_FORMAT_MAX], limit[SKM_FORMAT_MAX], of_limit[SKM_FORMAT_MAX], max[SKM_FORMAT_MAX], of_max[SKM_FORMAT_MAX];

	if (sock == SKM_SOCK_UNKNOWN) {
		fputs("What its sockets hold is not known: the kernel does not count it.\n", stdout);
		return;
	}
	if (report->ended)
		printf("At their peak its %ssockets held %s", pod, skm_cli_bytes(sock, bytes));
	else
		printf("Its %ssockets hold %s", pod, skm_cli_bytes(sock, bytes));
	if (report->limit_bytes != UINT64_MAX)
		printf(": %s of their limit (%s)", skm_cli_percent(sock, report->limit_bytes, of_limit),
		       skm_cli_bytes(report->limit_bytes, limit));
	else
		fputs(", and have no limit", stdout);
	/* memory.max is the container's own */
	if (report->memory_max_bytes != UINT64_MAX && !*pod)
		printf(", %s of memory.max (%s)", skm_cli_percent(sock, report->memory_max_bytes, of_max),
		       skm_cli_bytes(report->memory_max_bytes, max));
	fputs(".\n", stdout);
}

static const char *reason_sentence(enum skm_reason reason)
{
	static const char *const sentences[] = {
	        [SKM_REASON_REST] = "far from the limit",
	        [SKM_REASON_OCCUPANCY] = "the share of the limit in use passed this step's threshold",
	        [SKM_REASON_HOLD] = "use has fallen, but not far or not long enough to let go",
	        [SKM_REASON_RELAXED] = "use stayed low long enough: let go by a step",
	        [SKM_REASON_BURST] = "the open sockets together could pass the limit before the next look",
	        [SKM_REASON_PRESSURE] = "the kernel reclaims memory in vain, and the sockets hold a share worth having",
	        [SKM_REASON_TOO_SMALL] = "the limit is too small for so many connections: less than one segment each",
	};

	return (size_t)reason < sizeof(sentences) / sizeof(*sentences) ? sentences[reason] : "?";
}

/* Backend v1: there the kernel does all of it. */
static void print_what_the_kernel_did(const struct skm_report *report)
{
	printf("The kernel itself holds the limit (cgroup v1); it has refused %llu charges.\n", (ull)report->over_limit);
	printf("OOM kills: %llu.\n", (ull)report->oom_kills);
}

static void print_shape(const struct skm_shape_report *shape)
{
	char rate[SKM_FORMAT_MAX], drain[SKM_FORMAT_MAX], passed[SKM_FORMAT_MAX];

	if (shape->where == SKM_SHAPE_NOWHERE) {
		if (shape->changes > 0)
			printf("It shaped bulk traffic in between: %llu rates.\n", (ull)shape->changes);
		return;
	}
	printf("Bulk that comes in is shaped to %s/s %s: its programs read %s/s from a backlog.\n",
	       skm_cli_bytes(shape->rate_bytes_per_sec, rate),
	       shape->where == SKM_SHAPE_IFB ? "by an ifb" : "on the host's side of its veth",
	       skm_cli_bytes(shape->drain_bytes_per_sec, drain));
	printf("%s of it came through, %llu packets were dropped.\n", skm_cli_bytes(shape->passed_bytes, passed),
	       (ull)shape->dropped);
}

static void print_what_was_done(const struct skm_report *report)
{
	const struct skm_decision *decision = &report->decision;
	char cap[SKM_FORMAT_MAX], throttled[SKM_FORMAT_MAX];

	printf("%s step is %s: %s.\n", report->ended ? "sockmem's last" : "sockmem's",
	       skm_name_of(&skm_step_names, decision->step), reason_sentence(decision->reason));
	if (report->backend == SKM_BACKEND_OBSERVE)
		fputs("It only observes: what follows is what it would have done.\n", stdout);
	if (decision->fair_cap_bytes != UINT64_MAX)
		printf("Each socket may hold up to %s (fair cap).\n", skm_cli_bytes(decision->fair_cap_bytes, cap));
	printf("It throttled for %s, wrote %llu sysctls and squeezed %llu sockets in %llu runs.\n",
	       skm_cli_duration(report->throttled_usec, throttled), (ull)report->sysctl_writes, (ull)report->squeezed_sockets,
	       (ull)report->squeeze_runs);
	print_shape(&report->shape);
	if (report->destroyed_sockets > 0)
		printf("It ended %llu connections as the last resort, which freed %s of their send queues.\n",
		       (ull)report->destroyed_sockets, skm_cli_bytes(report->destroyed_bytes, cap));
	printf("OOM kills: %llu.\n", (ull)report->oom_kills);
}

static void print_text(const char *name, const char *text)
{
	printf("  %-22s", name);
	skm_cli_put(text);
	putchar('\n');
}

static void print_number(const char *name, uint64_t value)
{
	printf("  %-22s%llu\n", name, (ull)value);
}

/* A number that the kernel may not count. */
static void print_known(const char *name, uint64_t value)
{
	if (value == SKM_SOCK_UNKNOWN)
		print_text(name, "unknown");
	else
		print_number(name, value);
}

static void print_outside(const struct skm_report *report)
{
	if (report->outside_processes > 0)
		printf("Processes of it outside its cgroup: %u. What their sockets hold is counted elsewhere.\n",
		       report->outside_processes);
}

/* Which connections stay slow over long distances, and why. */
static void print_small_windows(const struct skm_report *report)
{
	const struct skm_small_windows *small = &report->small_windows;
	char since[SKM_FORMAT_MAX], until[SKM_FORMAT_MAX], bytes[SKM_FORMAT_MAX];

	if (small->rmem_max_bytes == 0)
		return;
	printf("Connections opened while throttled, from %s to %s, keep a smaller TCP window scale for life: tcp_rmem[2] was "
	       "down to %s.\n",
	       skm_cli_time(small->since_realtime_usec, since),
	       small->until_realtime_usec > 0 ? skm_cli_time(small->until_realtime_usec, until) : "now",
	       skm_cli_bytes(small->rmem_max_bytes, bytes));
}

static void print_details(const struct skm_report *report)
{
	bool by_kernel = report->backend == SKM_BACKEND_V1;
	char text[SKM_FORMAT_MAX];

	fputs("\nDetails\n", stdout);
	print_text("backend", skm_name_of(&skm_backend_names, report->backend));
	if (report->why_not_better[0])
		print_text("not a better one", report->why_not_better);
	print_text("asked by", skm_name_of(&skm_policy_source_names, report->policy.source));
	print_text("started", skm_cli_time(report->started_realtime_usec, text));
	print_text("cgroup", report->cgroup);
	print_text("memory.current", skm_cli_bytes(report->current_bytes, text));
	print_text("memory.max", skm_cli_bytes(report->memory_max_bytes, text));
	print_text(by_kernel ? "peak" : "peak, as sampled", skm_cli_sock(report->sock_peak_bytes, text));
	print_number("TCP sockets", report->sockets);
	print_known("UDP lost, buffer full", report->udp_rcvbuf_errors);
	print_known("UDP lost, no memory", report->udp_mem_errors);
	print_number("samples", report->samples);
	if (!by_kernel)
		print_number("memory.stat reads", report->stat_reads);
	print_number(by_kernel ? "charges refused" : "samples over limit", report->over_limit);
	print_number("decisions", report->decisions);
	printf("  %-22s%u kept, %u lost\n", "events", report->events, report->events_lost);
}

/* v1 writes the largest number of whole pages where there is no limit; none is clearer. */
static void print_v1_names(const struct skm_report *report)
{
	fputs("\nBy their cgroup v1 names (memory.kmem.tcp.*), in bytes\n", stdout);
	print_known("usage_in_bytes", report->sock_bytes);
	if (report->limit_bytes == UINT64_MAX)
		print_text("limit_in_bytes", "none");
	else
		print_number("limit_in_bytes", report->limit_bytes);
	print_known("max_usage_in_bytes", report->sock_peak_bytes);
	print_number("failcnt", report->over_limit);
}

void skm_cli_print_report(const struct skm_report *report)
{
	print_heading(report);
	print_verdict(report);
	if (report->backend == SKM_BACKEND_V1)
		print_what_the_kernel_did(report);
	else
		print_what_was_done(report);
	skm_cli_print_differences(report);
	print_outside(report);
	print_small_windows(report);
	print_details(report);
	skm_cli_print_policy(report);
	print_v1_names(report);
}

void skm_cli_print_in_force(const struct skm_report *report)
{
	char bytes[SKM_FORMAT_MAX];

	skm_cli_put(report->id);
	printf(": limit %s, backend %s", skm_cli_bytes(report->limit_bytes, bytes),
	       skm_name_of(&skm_backend_names, report->backend));
	for (unsigned int file = 0; file < SKM_MEMORY_FILES; file++)
		if (report->in_force[SKM_IN_FORCE_MEMORY + file].set)
			printf(", %s %s", skm_name_of(&skm_memory_file_names, file),
			       skm_cli_bytes(report->in_force[SKM_IN_FORCE_MEMORY + file].bytes, bytes));
	putchar('\n');
	skm_cli_print_skipped(report, "  not applied: ");
}
