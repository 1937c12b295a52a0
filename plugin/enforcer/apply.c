/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/apply.h"

#include "actuate/netns_sysctl.h"
#include "enforcer/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const KEY_NAMES[SKM_NETNS_KEYS] = {"tcp_rmem", "tcp_wmem", "tcp_notsent_lowat"};

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
static const char *known_text(const struct skm_container *container, enum skm_netns_key key)
{
	const struct skm_journal *journal = &container->journal;

	return journal->written[key][0] ? journal->written[key] : journal->baseline[key];
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
static uint64_t standing_max(const struct skm_container *container, enum skm_netns_key key)
{
	uint64_t known[3], baseline[3];

	if (skm_probe_triple(known_text(container, key), known) < 0 ||
	    skm_probe_triple(container->journal.baseline[key], baseline) < 0)
		return 0;
	return known[2] == baseline[2] ? 0 : known[2];
}

/* Returns 0 where the value is still the one we know; 1 where it is foreign (told, and the key backed off). */
static int check_foreign(struct skm_container *container, enum skm_netns_key key)
{
	char now[SKM_NETNS_TEXT_MAX], was_text[SKM_NETNS_TEXT_MAX], now_text[SKM_NETNS_TEXT_MAX];
	struct skm_err err = SKM_ERR_INIT;

	if (skm_probe_netns_read(&container->netns, key, now, &err) < 0 || strcmp(now, known_text(container, key)) == 0)
		return 0;
	skm_container_tell(container, SKM_EVENT_FOREIGN,
	                   "%s was \"%s\" and has become \"%s\": someone else writes it, sockmem leaves it alone", KEY_NAMES[key],
	                   spaced(known_text(container, key), was_text), spaced(now, now_text));
	memcpy(container->journal.baseline[key], now, sizeof(now));
	container->journal.written[key][0] = '\0';
	container->foreign[key] = true;
	if (skm_journal_save(container, &err) < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
	return 1;
}

/* A container that is gone takes its namespace's files with it, quietly. */
static void write_key(struct skm_container *container, enum skm_netns_key key, const char *text)
{
	struct skm_err err = SKM_ERR_INIT;
	char before[SKM_NETNS_TEXT_MAX], now[SKM_NETNS_TEXT_MAX], was[SKM_NETNS_TEXT_MAX];

	if (container->foreign[key] || container->backed_off[key] || strcmp(text, known_text(container, key)) == 0 ||
	    check_foreign(container, key))
		return;
	memcpy(before, known_text(container, key), sizeof(before));
	if (skm_actuate_netns_write(&container->netns, key, text, &err) < 0) {
		container->backed_off[key] = true;
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
		return;
	}
	snprintf(container->journal.written[key], SKM_NETNS_TEXT_MAX, "%s", text);
	container->report.sysctl_writes++;
	skm_container_tell(container, SKM_EVENT_SYSCTL, "%s: \"%s\" (was \"%s\")", KEY_NAMES[key], spaced(text, now),
	                   spaced(before, was));
}

static void apply_triple(struct skm_container *container, enum skm_netns_key key, uint64_t start, uint64_t max)
{
	uint64_t standing = standing_max(container, key);
	char text[SKM_NETNS_TEXT_MAX] = "";

	if (container->journal.written[key][0] && skm_control_within_grain(standing, max))
		max = standing;
	triple_text(container->journal.baseline[key], start, max, text);
	write_key(container, key, text);
}

static void apply_lowat(struct skm_container *container, uint64_t lowat)
{
	const char *baseline = container->journal.baseline[SKM_NETNS_NOTSENT_LOWAT];
	const char *known = known_text(container, SKM_NETNS_NOTSENT_LOWAT);
	uint64_t standing = strcmp(known, baseline) == 0 ? 0 : strtoull(known, NULL, 10);
	char text[SKM_NETNS_TEXT_MAX];

	if (skm_control_within_grain(standing, lowat))
		return;
	if (lowat > 0)
		snprintf(text, sizeof(text), "%" PRIu64, lowat);
	else
		memcpy(text, baseline, sizeof(text));
	write_key(container, SKM_NETNS_NOTSENT_LOWAT, text);
}

void skm_apply_netns(struct skm_container *container)
{
	const struct skm_netns_targets *targets = &container->ladder.decision.targets;

	apply_triple(container, SKM_NETNS_TCP_RMEM, container->start_buffer_bytes, targets->rmem_max_bytes);
	apply_triple(container, SKM_NETNS_TCP_WMEM, 0, targets->wmem_max_bytes);
	apply_lowat(container, targets->notsent_lowat_bytes);
}

void skm_apply_restore_netns(struct skm_container *container)
{
	uint64_t writes = container->report.sysctl_writes;

	for (int key = 0; key < SKM_NETNS_KEYS; key++) {
		char baseline[SKM_NETNS_TEXT_MAX];

		memcpy(baseline, container->journal.baseline[key], sizeof(baseline));
		container->backed_off[key] = false;
		write_key(container, key, baseline);
	}
	if (container->report.sysctl_writes > writes)
		skm_container_tell(container, SKM_EVENT_RESTORED,
		                   "%" PRIu64 " sysctl values of the network namespace are back to what they were",
		                   container->report.sysctl_writes - writes);
}
