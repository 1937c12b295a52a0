/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/apply.h"

#include "actuate/netns_sysctl.h"
#include "base/clock.h"
#include "control/budget.h"
#include "control/rate.h"
#include "enforcer/journal.h"
#include "enforcer/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const KEY_NAMES[SKM_NETNS_KEYS] = {"tcp_rmem", "tcp_wmem", "tcp_notsent_lowat"};

const char *skm_apply_key_name(enum skm_netns_key key)
{
	return KEY_NAMES[key];
}

/* What a group's containers want together, and whose wish it is. */
struct wish {
	uint64_t bytes; /* 0: the baseline */
	const struct skm_container *whose;
};

struct wishes {
	struct wish start, rmem, wmem, lowat;
};

/* The kernel writes tabs between numbers; a person reads spaces. */
static const char *spaced(const char *text, char buffer[SKM_NETNS_TEXT_MAX])
{
	size_t length = strnlen(text, SKM_NETNS_TEXT_MAX - 1);

	for (size_t i = 0; i < length; i++)
		buffer[i] = text[i] == '\t' ? ' ' : text[i];
	buffer[length] = '\0';
	return buffer;
}

/* What stands there as far as we know. */
static const char *known_text(const struct skm_netns_group *group, enum skm_netns_key key)
{
	return group->written[key][0] ? group->written[key] : group->baseline[key];
}

/* Tells the container, and each other one for which the group is written. */
__attribute__((format(printf, 3, 4))) static void tell_group(struct skm_container *container, enum skm_event_kind kind,
                                                             const char *format, ...)
{
	char text[SKM_EVENT_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (struct skm_container *c = skm_registry_head(container->registry); c; c = c->next)
		if (c == container || (c->group == container->group && c->is_writer))
			skm_container_tell(c, kind, "%s", text);
}

/* "min start max" with ours in place of the baseline's; 0 keeps it. tcp_rmem[1] stays ours for the container's life: only
 * what is there before listen() reaches a connection. */
static void triple_text(const char *baseline, uint64_t start, uint64_t max, char text[SKM_NETNS_TEXT_MAX])
{
	uint64_t values[3] = {0};

	if (skm_probe_triple(baseline, values) < 0)
		return;
	if (start > 0)
		values[1] = start;
	if (max > 0)
		values[2] = max;
	if (values[1] > values[2])
		values[1] = values[2];
	snprintf(text, SKM_NETNS_TEXT_MAX, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, values[0], values[1], values[2]);
}

/* The newest value of ours that stands for a target, so that a small move is not written: 0 where the baseline stands. */
static uint64_t standing_max(const struct skm_netns_group *group, enum skm_netns_key key)
{
	uint64_t known[3], baseline[3];

	if (skm_probe_triple(known_text(group, key), known) < 0 || skm_probe_triple(group->baseline[key], baseline) < 0)
		return 0;
	return known[2] == baseline[2] ? 0 : known[2];
}

/* Each writer's journal has the group's baselines. */
static void save_journals(struct skm_container *container)
{
	struct skm_err err = SKM_ERR_INIT;

	for (struct skm_container *c = skm_registry_head(container->registry); c; c = c->next)
		if (c->group == container->group && c->is_writer && skm_journal_save(c, &err) < 0)
			skm_container_tell(c, SKM_EVENT_TROUBLE, "%s", err.text);
}

/* Returns 0 where the value is still the one we know; 1 where it is foreign (told, and the key left alone from now on). */
static int check_foreign(struct skm_container *container, enum skm_netns_key key)
{
	char now[SKM_NETNS_TEXT_MAX], was_text[SKM_NETNS_TEXT_MAX], now_text[SKM_NETNS_TEXT_MAX];
	struct skm_netns_group *group = container->group;

	if (skm_probe_netns_read(&group->netns, key, now, NULL) < 0 || strcmp(now, known_text(group, key)) == 0)
		return 0;
	tell_group(container, SKM_EVENT_FOREIGN,
	           "%s was \"%s\" and has become \"%s\": someone else writes it, sockmem leaves it alone", KEY_NAMES[key],
	           spaced(known_text(group, key), was_text), spaced(now, now_text));
	memcpy(group->baseline[key], now, sizeof(now));
	group->written[key][0] = '\0';
	group->foreign[key] = true;
	save_journals(container);
	return 1;
}

static void count_write(struct skm_container *container)
{
	for (struct skm_container *c = skm_registry_head(container->registry); c; c = c->next)
		if (c == container || (c->group == container->group && c->is_writer))
			c->report.sysctl_writes++;
}

/* A connection's window scale is made of tcp_rmem[2] when it is opened (tcp_select_initial_window, net/ipv4/tcp_output.c), and
 * from SKM_RMEM_FULL_SCALE_BYTES on it is what it is by default. */
static void note_window_scale(struct skm_container *container)
{
	const struct skm_netns_group *group = container->group;
	uint64_t now[3], baseline[3], realtime_usec = skm_realtime_usec();

	if (skm_probe_triple(known_text(group, SKM_NETNS_TCP_RMEM), now) < 0 ||
	    skm_probe_triple(group->baseline[SKM_NETNS_TCP_RMEM], baseline) < 0)
		return;
	for (struct skm_container *c = skm_registry_head(container->registry); c; c = c->next) {
		struct skm_small_windows *small = &c->report.small_windows;

		if (c->group != group)
			continue;
		if (now[2] >= SKM_RMEM_FULL_SCALE_BYTES || now[2] >= baseline[2]) {
			if (small->since_realtime_usec > 0 && small->until_realtime_usec == 0)
				small->until_realtime_usec = realtime_usec;
			continue;
		}
		small->until_realtime_usec = 0;
		if (small->since_realtime_usec == 0)
			small->since_realtime_usec = realtime_usec;
		if (small->rmem_max_bytes == 0 || now[2] < small->rmem_max_bytes)
			small->rmem_max_bytes = now[2];
	}
}

/* whose: the container that the value is for, NULL for a baseline. Returns 0 where the value stands, or is none of ours to write;
 * -errno with err set. */
static int try_key(struct skm_container *container, enum skm_netns_key key, const char *text, const struct skm_container *whose,
                   struct skm_err *err)
{
	char before[SKM_NETNS_TEXT_MAX], now[SKM_NETNS_TEXT_MAX], was[SKM_NETNS_TEXT_MAX];
	struct skm_netns_group *group = container->group;
	int r;

	if (group->foreign[key] || group->backed_off[key] || group->netns.read_only[key] ||
	    strcmp(text, known_text(group, key)) == 0 || check_foreign(container, key))
		return 0;
	memcpy(before, known_text(group, key), sizeof(before));
	r = skm_actuate_netns_write(&group->netns, key, text, err);
	if (r < 0)
		return r;
	snprintf(group->written[key], SKM_NETNS_TEXT_MAX, "%s", strcmp(text, group->baseline[key]) == 0 ? "" : text);
	count_write(container);
	if (key == SKM_NETNS_TCP_RMEM)
		note_window_scale(container);
	tell_group(container, SKM_EVENT_SYSCTL, "%s: \"%s\" (was \"%s\")%s%.64s", KEY_NAMES[key], spaced(text, now),
	           spaced(before, was), whose && group->writers > 1 ? ", for container " : "",
	           whose && group->writers > 1 ? whose->report.id : "");
	return 0;
}

/* A container that is gone takes its namespace's files with it, quietly. */
static void write_key(struct skm_container *container, enum skm_netns_key key, const char *text,
                      const struct skm_container *whose)
{
	struct skm_err err = SKM_ERR_INIT;

	if (try_key(container, key, text, whose, &err) == 0)
		return;
	container->group->backed_off[key] = true;
	tell_group(container, SKM_EVENT_TROUBLE, "%s", err.text);
}

static void apply_triple(struct skm_container *container, enum skm_netns_key key, const struct wish *start,
                         const struct wish *max)
{
	struct skm_netns_group *group = container->group;
	uint64_t standing = standing_max(group, key), bytes = max->bytes;
	char text[SKM_NETNS_TEXT_MAX] = "";

	if (group->written[key][0] && skm_control_within_grain(standing, bytes))
		bytes = standing;
	else
		bytes = skm_control_rate_next(&group->rate[key], standing, bytes, SKM_BUFFER_FLOOR_BYTES, skm_now_usec());
	triple_text(group->baseline[key], start ? start->bytes : 0, bytes, text);
	write_key(container, key, text, bytes > 0 || !start ? max->whose : start->whose);
}

static void apply_lowat(struct skm_container *container, const struct wish *lowat)
{
	struct skm_netns_group *group = container->group;
	const char *baseline = group->baseline[SKM_NETNS_NOTSENT_LOWAT];
	const char *known = known_text(group, SKM_NETNS_NOTSENT_LOWAT);
	uint64_t standing = strcmp(known, baseline) == 0 ? 0 : strtoull(known, NULL, 10), bytes;
	char text[SKM_NETNS_TEXT_MAX];

	if (skm_control_within_grain(standing, lowat->bytes))
		return;
	bytes = skm_control_rate_next(&group->rate[SKM_NETNS_NOTSENT_LOWAT], standing, lowat->bytes, SKM_NOTSENT_MIN_BYTES,
	                              skm_now_usec());
	if (bytes == standing)
		return;
	if (bytes > 0)
		snprintf(text, sizeof(text), "%" PRIu64, bytes);
	else
		memcpy(text, baseline, sizeof(text));
	write_key(container, SKM_NETNS_NOTSENT_LOWAT, text, lowat->whose);
}

static void take_smaller(struct wish *wish, uint64_t bytes, const struct skm_container *whose)
{
	if (bytes > 0 && (wish->bytes == 0 || bytes < wish->bytes))
		*wish = (struct wish){bytes, whose};
}

/* The smallest cap of all: each container's sockets are in the same namespace and can be told apart by none of its sysctls. */
static struct wishes gather_wishes(const struct skm_container *container)
{
	struct wishes wishes = {0};

	for (const struct skm_container *c = skm_registry_head(container->registry); c; c = c->next) {
		const struct skm_netns_targets *targets = &c->ladder.decision.targets;

		if (c->group != container->group || !c->is_writer)
			continue;
		take_smaller(&wishes.start, c->start_buffer_bytes, c);
		take_smaller(&wishes.rmem, targets->rmem_max_bytes, c);
		take_smaller(&wishes.wmem, targets->wmem_max_bytes, c);
		take_smaller(&wishes.lowat, targets->notsent_lowat_bytes, c);
	}
	return wishes;
}

static void apply_group(struct skm_container *container)
{
	const struct wishes wishes = gather_wishes(container);

	apply_triple(container, SKM_NETNS_TCP_RMEM, &wishes.start, &wishes.rmem);
	apply_triple(container, SKM_NETNS_TCP_WMEM, NULL, &wishes.wmem);
	apply_lowat(container, &wishes.lowat);
}

void skm_apply_netns(struct skm_container *container)
{
	if (container->is_writer)
		apply_group(container);
}

int skm_apply_start_buffer(struct skm_container *container, struct skm_err *err)
{
	const struct wishes wishes = gather_wishes(container);
	struct skm_netns_group *group = container->group;
	char text[SKM_NETNS_TEXT_MAX] = "";

	if (!container->is_writer)
		return 0;
	group->backed_off[SKM_NETNS_TCP_RMEM] = false;
	triple_text(group->baseline[SKM_NETNS_TCP_RMEM], wishes.start.bytes, wishes.rmem.bytes, text);
	return try_key(container, SKM_NETNS_TCP_RMEM, text, wishes.start.whose, err);
}

static void restore_group(struct skm_container *container)
{
	struct skm_netns_group *group = container->group;
	uint64_t writes = container->report.sysctl_writes;

	for (int key = 0; key < SKM_NETNS_KEYS; key++) {
		char baseline[SKM_NETNS_TEXT_MAX];

		memcpy(baseline, group->baseline[key], sizeof(baseline));
		group->backed_off[key] = false;
		write_key(container, (enum skm_netns_key)key, baseline, NULL);
	}
	if (container->report.sysctl_writes > writes)
		skm_container_tell(container, SKM_EVENT_RESTORED,
		                   "%" PRIu64 " sysctl values of the network namespace are back to what they were",
		                   container->report.sysctl_writes - writes);
}

void skm_apply_restore_netns(struct skm_container *container)
{
	struct skm_netns_group *group = container->group;

	if (!container->is_writer)
		return;
	container->is_writer = false;
	group->writers--;
	if (group->writers == 0) {
		restore_group(container);
		return;
	}
	apply_group(container);
	skm_container_tell(container, SKM_EVENT_RESTORED,
	                   "the sysctls of its network namespace stay with the others there (%" PRIu32 ")", group->writers);
}
