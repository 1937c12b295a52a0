/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/openmetrics.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { GAUGE, COUNTER };

/* What a number of the report is. */
enum kind { BYTES, COUNT, COUNT32, USEC };

static const char *const TYPES[] = {"gauge", "counter"};

/* One family. A unit is the end of its name, as the format asks for. */
struct family {
	const char *name, *unit, *help;
	enum type type;
	enum kind kind;
	size_t offset;
};

#define AT(member) offsetof(struct skm_report, member)

static const struct family FAMILIES[] = {
        {"sockmem_sock_bytes", "bytes", "What the sockets hold (cgroup v1: usage_in_bytes).", GAUGE, BYTES, AT(sock_bytes)},
        {"sockmem_limit_bytes", "bytes", "What they may hold (cgroup v1: limit_in_bytes).", GAUGE, BYTES, AT(limit_bytes)},
        {"sockmem_sock_peak_bytes", "bytes", "The most that was seen (cgroup v1: max_usage_in_bytes).", GAUGE, BYTES,
         AT(sock_peak_bytes)},
        {"sockmem_over_limit", NULL, "Samples above the limit, or charges the kernel refused (cgroup v1: failcnt).", COUNTER,
         COUNT, AT(over_limit)},
        {"sockmem_memory_current_bytes", "bytes", "memory.current of the container.", GAUGE, BYTES, AT(current_bytes)},
        {"sockmem_memory_max_bytes", "bytes", "memory.max of the container.", GAUGE, BYTES, AT(memory_max_bytes)},
        {"sockmem_fair_cap_bytes", "bytes", "What one socket may hold now.", GAUGE, BYTES, AT(decision.fair_cap_bytes)},
        {"sockmem_tcp_sockets", NULL, "TCP sockets in use.", GAUGE, COUNT32, AT(sockets)},
        {"sockmem_throttled_seconds", "seconds", "Time in a step above none.", COUNTER, USEC, AT(throttled_usec)},
        {"sockmem_decisions", NULL, "Decisions that changed the step.", COUNTER, COUNT, AT(decisions)},
        {"sockmem_samples", NULL, "Looks at the container.", COUNTER, COUNT, AT(samples)},
        {"sockmem_sysctl_writes", NULL, "Writes to sysctls of its network namespace.", COUNTER, COUNT, AT(sysctl_writes)},
        {"sockmem_squeezed_sockets", NULL, "Open sockets whose buffers were lowered.", COUNTER, COUNT, AT(squeezed_sockets)},
        {"sockmem_reclaimed_bytes", "bytes", "What proactive reclaim has freed.", COUNTER, BYTES, AT(reclaimed_bytes)},
        {"sockmem_destroyed_sockets", NULL, "Connections that were ended as the last resort.", COUNTER, COUNT,
         AT(destroyed_sockets)},
        {"sockmem_destroyed_bytes", "bytes", "What that has freed of their send queues.", COUNTER, BYTES, AT(destroyed_bytes)},
        {"sockmem_memory_writes", NULL, "Writes to files of the memory controller.", COUNTER, COUNT, AT(memory_writes)},
        {"sockmem_memory_reasserted", NULL, "Values that others had rewritten and that were put back.", COUNTER, COUNT,
         AT(memory_reasserted)},
        {"sockmem_udp_rcvbuf_errors", NULL, "UDP datagrams lost for a full receive buffer.", COUNTER, COUNT,
         AT(udp_rcvbuf_errors)},
        {"sockmem_udp_mem_errors", NULL, "UDP datagrams lost for want of memory.", COUNTER, COUNT, AT(udp_mem_errors)},
        {"sockmem_oom_kills", NULL, "Processes that the kernel killed for memory.max.", COUNTER, COUNT, AT(oom_kills)},
};

/* In a label's value the format escapes backslash, quote and newline, and passes all else. These values are tenants' texts and
 * may reach a terminal: whatever is not printable ASCII becomes the text \xNN, whose backslash is escaped in turn. */
static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fprintf(out, "\\%c", *value);
		else if (*value >= ' ' && *value <= '~')
			fputc(*value, out);
		else
			fprintf(out, "\\\\x%02x", (unsigned char)*value);
	}
	fputc('"', out);
}

/* Two runtimes may each have a container of one id: its cgroup tells them apart. */
static void put_container(FILE *out, const struct skm_report *report)
{
	put_label(out, "id", report->id);
	fputc(',', out);
	put_label(out, "cgroup", report->cgroup);
}

static uint64_t value_of(const struct family *family, const struct skm_report *report)
{
	const char *at = (const char *)report + family->offset;
	uint32_t small;
	uint64_t value;

	if (family->kind == COUNT32) {
		memcpy(&small, at, sizeof(small));
		return small;
	}
	memcpy(&value, at, sizeof(value));
	return value;
}

static void put_head(FILE *out, const struct family *family)
{
	fprintf(out, "# TYPE %s %s\n", family->name, TYPES[family->type]);
	if (family->unit)
		fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
	fprintf(out, "# HELP %s %s\n", family->name, family->help);
}

static void put_sample(FILE *out, const struct family *family, const struct skm_report *report)
{
	uint64_t value = value_of(family, report);

	/* none, or not counted */
	if (value == UINT64_MAX)
		return;
	fprintf(out, "%s%s{", family->name, family->type == COUNTER ? "_total" : "");
	put_container(out, report);
	if (family->kind == USEC)
		fprintf(out, "} %" PRIu64 ".%06" PRIu64 "\n", value / SKM_USEC_PER_SEC, value % SKM_USEC_PER_SEC);
	else
		fprintf(out, "} %" PRIu64 "\n", value);
}

/* A sample for each state there is, of which one is 1. */
static void put_steps(FILE *out, const struct skm_report *const *reports, size_t count)
{
	fputs("# TYPE sockmem_step stateset\n# HELP sockmem_step How hard sockmem leans on the sockets.\n", out);
	for (size_t i = 0; i < count; i++)
		for (size_t step = 0; step < skm_step_names.count; step++) {
			fputs("sockmem_step{", out);
			put_container(out, reports[i]);
			fputc(',', out);
			put_label(out, "sockmem_step", skm_step_names.names[step]);
			fprintf(out, "} %d\n", reports[i]->decision.step == step);
		}
}

static void put_info(FILE *out, const struct skm_report *const *reports, size_t count)
{
	fputs("# TYPE sockmem_container info\n# HELP sockmem_container How the container is held.\n", out);
	for (size_t i = 0; i < count; i++) {
		fputs("sockmem_container_info{", out);
		put_container(out, reports[i]);
		fputc(',', out);
		put_label(out, "backend", skm_name_of(&skm_backend_names, reports[i]->backend));
		fputc(',', out);
		put_label(out, "source", skm_name_of(&skm_policy_source_names, reports[i]->policy.source));
		fputs("} 1\n", out);
	}
}

char *skm_codec_openmetrics_format(const struct skm_report *const *reports, size_t count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (!out)
		return NULL;
	put_info(out, reports, count);
	put_steps(out, reports, count);
	for (size_t i = 0; i < sizeof(FAMILIES) / sizeof(*FAMILIES); i++) {
		put_head(out, &FAMILIES[i]);
		for (size_t j = 0; j < count; j++)
			put_sample(out, &FAMILIES[i], reports[j]);
	}
	fputs("# EOF\n", out);
	failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}
