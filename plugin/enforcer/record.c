/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/record.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "codec/message.h"
#include "enforcer/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define AGE_MAX_USEC (UINT64_C(7) * 24 * 3600 * SKM_USEC_PER_SEC)

static struct skm_event *copy_events(const struct skm_event_ring *ring)
{
	struct skm_event *copy = calloc(ring->count + 1, sizeof(*copy));

	for (uint32_t i = 0; copy && i < ring->count; i++)
		copy[i] = *skm_events_get(ring, i);
	return copy;
}

int skm_record_save(const struct skm_container *container, struct skm_err *err)
{
	int dirfd = skm_registry_ended_dir(container->registry);
	cleanup_free struct skm_event *events = copy_events(&container->events);
	cleanup_free char *text = events ? skm_codec_record_format(&container->report, events, container->events.count) : NULL;
	int r;

	if (!text)
		return skm_err_set(err, ENOMEM, "record of an ended container: out of memory");
	r = skm_replace_file_at(dirfd, container->journal_name, text, strlen(text), err);
	skm_record_trim(dirfd, skm_realtime_usec(), SKM_RECORDS_MAX, SKM_RECORDS_BYTES_MAX);
	return r < 0 ? skm_err_wrap(err, "record of an ended container") : 0;
}

static int is_record(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Names begin with the time of the start, of fixed width: their order is the order of age. */
void skm_record_trim(int dirfd, uint64_t now_usec, uint32_t max_files, uint64_t max_bytes)
{
	struct dirent **entries = NULL;
	int count = scandirat(dirfd, ".", &entries, is_record, alphasort);
	uint64_t bytes = 0;

	for (int i = count - 1, kept = 0; i >= 0; i--) {
		const char *name = entries[i]->d_name;
		struct stat st;
		uint64_t changed;

		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes += (uint64_t)st.st_size;
		changed = (uint64_t)st.st_mtime * SKM_USEC_PER_SEC;
		if (++kept > (int)max_files || bytes > max_bytes || (now_usec > changed && now_usec - changed > AGE_MAX_USEC))
			SKM_IGNORE(unlinkat(dirfd, name, 0) < 0); /* gone already is as good */
	}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}
