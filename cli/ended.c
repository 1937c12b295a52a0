/* SPDX-License-Identifier: Apache-2.0 */
#include "ended.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "cli.h"
#include "codec/message.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The enforcer keeps a record below 1 MiB (DESIGN.md, section 8). */
#define RECORD_MAX (4 * 1024 * 1024)

static int load_record(int dirfd, const char *name, struct skm_ended *ret, struct skm_err *err)
{
	cleanup_fd int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup_free char *text = NULL;
	size_t length;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return skm_err_set_errno(err, errno, "open %s", name);
	if (!S_ISREG(st.st_mode))
		return skm_err_set(err, EINVAL, "%s is no regular file", name);
	r = skm_read_to_end(fd, RECORD_MAX, &text, &length);
	if (r < 0)
		return skm_err_set_errno(err, -r, "read %s", name);
	r = skm_codec_record_parse(text, length, &ret->report, &ret->events, &ret->event_count, err);
	return r < 0 ? skm_err_wrap(err, "%s", name) : 0;
}

static int add(struct skm_ended_set *set, struct skm_ended *ended)
{
	struct skm_ended **larger = reallocarray(set->items, set->count + 1, sizeof(struct skm_ended *));

	if (!larger)
		return -ENOMEM;
	set->items = larger;
	set->items[set->count++] = ended;
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	uint64_t one = (*(struct skm_ended *const *)a)->report.ended_realtime_usec;
	uint64_t other = (*(struct skm_ended *const *)b)->report.ended_realtime_usec;

	return one < other ? 1 : one > other ? -1 : 0;
}

int skm_cli_ended_load(const char *folder, struct skm_ended_set *ret, struct skm_err *err)
{
	cleanup_dir DIR *dir = opendir(folder);

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return skm_err_set_errno(err, errno, "open %s", folder);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		struct skm_err trouble = SKM_ERR_INIT;
		struct skm_ended *ended;
		int r;

		if (entry->d_name[0] == '.') /* also what the enforcer is just writing */
			continue;
		ended = calloc(1, sizeof(*ended));
		r = ended ? load_record(dirfd(dir), entry->d_name, ended, &trouble) : -ENOMEM;
		if (r == 0)
			r = add(ret, ended);
		if (r == 0)
			continue;
		free(ended);
		if (r == -ENOMEM)
			return skm_err_set(err, ENOMEM, "out of memory");
		if (r != -ENOENT) /* the enforcer has just dropped it, for it keeps a bounded number */
			skm_cli_fail(SKM_EXIT_FAILURE, "left out: %s/%s", folder, trouble.text);
	}
	if (ret->count > 0)
		qsort(ret->items, ret->count, sizeof(*ret->items), newest_first);
	return 0;
}

void skm_cli_ended_free(struct skm_ended_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->items[i]->events);
		free(set->items[i]);
	}
	free(set->items);
	*set = SKM_ENDED_SET_INIT;
}

int skm_cli_ended_find(const struct skm_ended_set *set, const char *id, const struct skm_ended **ret, struct skm_err *err)
{
	const struct skm_ended *found = NULL;

	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->items[i]->report.id, id) == 0) {
			*ret = set->items[i];
			return 1;
		}
	for (size_t i = 0; i < set->count; i++) {
		const struct skm_ended *item = set->items[i];

		if (strncmp(item->report.id, id, strlen(id)) != 0)
			continue;
		if (found && strcmp(found->report.id, item->report.id) != 0)
			return skm_err_set(err, EEXIST, "several containers that have ended begin with %s: %.64s, %.64s, ...", id,
			                   found->report.id, item->report.id);
		if (!found)
			found = item;
	}
	if (found)
		*ret = found;
	return found != NULL;
}
