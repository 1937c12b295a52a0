/* SPDX-License-Identifier: Apache-2.0 */
#include "control/memory.h"

#include <errno.h>

static int refuse(const struct skm_in_force *files, int lower, int upper, struct skm_err *err)
{
	char below[SKM_SIZE_TEXT_MAX], above[SKM_SIZE_TEXT_MAX];

	return skm_err_set(
	        err, EINVAL, "%s (%s) is above %s (%s): memory.min <= low <= high <= max",
	        skm_name_of(&skm_memory_file_names, (unsigned int)lower), skm_bytes_human(files[lower].asked_bytes, below),
	        skm_name_of(&skm_memory_file_names, (unsigned int)upper), skm_bytes_human(files[upper].asked_bytes, above));
}

int skm_control_memory_fit(struct skm_in_force in_force[SKM_IN_FORCE_COUNT], struct skm_err *err)
{
	struct skm_in_force *files = &in_force[SKM_IN_FORCE_MEMORY];
	int above = -1;

	for (int file = SKM_MEMORY_FILE_MAX; file >= SKM_MEMORY_FILE_MIN; file--) {
		if (!files[file].set)
			continue;
		if (above >= 0 && files[file].asked_bytes > files[above].asked_bytes)
			return refuse(files, file, above, err);
		above = file;
	}
	above = -1;
	for (int file = SKM_MEMORY_FILE_MAX; file >= SKM_MEMORY_FILE_MIN; file--) {
		if (!files[file].set)
			continue;
		if (above >= 0 && files[file].bytes > files[above].bytes) {
			files[file].bytes = files[above].bytes;
			files[file].cut = true;
			files[file].cut_by = files[above].cut_by;
		}
		above = file;
	}
	return 0;
}

uint64_t skm_control_memory_high(uint64_t high_bytes, uint64_t limit_bytes)
{
	if (limit_bytes == UINT64_MAX || high_bytes > UINT64_MAX - limit_bytes)
		return high_bytes;
	return high_bytes + limit_bytes;
}

static bool grows(const struct skm_memory_change *change)
{
	return change->to > change->from;
}

static bool comes_before(const struct skm_memory_change *a, const struct skm_memory_change *b)
{
	if (grows(a) != grows(b))
		return grows(a);
	if (a->depth != b->depth)
		return grows(a) ? a->depth < b->depth : a->depth > b->depth;
	return grows(a) ? a->file > b->file : a->file < b->file;
}

void skm_control_memory_order(struct skm_memory_change *changes, size_t count)
{
	/* some ten of them */
	for (size_t i = 1; i < count; i++) {
		struct skm_memory_change change = changes[i];
		size_t at = i;

		for (; at > 0 && comes_before(&change, &changes[at - 1]); at--)
			changes[at] = changes[at - 1];
		changes[at] = change;
	}
}

enum skm_memory_verdict skm_control_memory_judge(enum skm_memory_file file, bool ancestor, uint64_t written, uint64_t now)
{
	if (now == written)
		return SKM_MEMORY_STANDS;
	if (ancestor)
		return now > written ? SKM_MEMORY_TAKE_OVER : SKM_MEMORY_REASSERT;
	if ((file == SKM_MEMORY_FILE_HIGH || file == SKM_MEMORY_FILE_MAX) && now < written)
		return SKM_MEMORY_TAKE_OVER;
	return SKM_MEMORY_REASSERT;
}

bool skm_control_memory_may_write(struct skm_memory_backoff *backoff, uint64_t now_usec)
{
	if (now_usec < backoff->not_before_usec)
		return false;
	if (now_usec - backoff->not_before_usec > SKM_MEMORY_BACKOFF_MAX_USEC)
		*backoff = (struct skm_memory_backoff){0};
	return true;
}

void skm_control_memory_wrote(struct skm_memory_backoff *backoff, uint64_t now_usec)
{
	uint64_t interval = backoff->interval_usec * 2;

	if (interval < SKM_MEMORY_BACKOFF_MIN_USEC)
		interval = SKM_MEMORY_BACKOFF_MIN_USEC;
	if (interval > SKM_MEMORY_BACKOFF_MAX_USEC)
		interval = SKM_MEMORY_BACKOFF_MAX_USEC;
	*backoff = (struct skm_memory_backoff){.interval_usec = interval, .not_before_usec = now_usec + interval};
}
