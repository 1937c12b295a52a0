/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/protection.h"

#include "base/cleanup.h"
#include "probe/ancestry.h"
#include "probe/memcg.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64

/* A cgroup that claims nothing passes its parent's protection on in proportion to what is used, and some pages are always its
 * own: what is missing by less than this part is no cut that anybody has made. */
#define NOISE_PART 64

/* Both protections are the same computation over two files. */
enum protection { MIN, LOW, PROTECTIONS };
static const enum skm_memory_file FILES[PROTECTIONS] = {SKM_MEMORY_FILE_MIN, SKM_MEMORY_FILE_LOW};

struct cgroup {
	uint64_t usage, setting[PROTECTIONS];
};

struct level {
	int dirfd;
	struct cgroup cgroup;
	uint64_t children_protected[PROTECTIONS];
	uint64_t effective[PROTECTIONS];
};

/* From the cgroup asked about (0) up to below the root. */
struct chain {
	struct level levels[DEPTH_MAX];
	unsigned int count, own;
	bool recursive;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t skm_probe_effective_protection(const struct skm_protection_claim *claim, bool recursive)
{
	uint64_t protected = least(claim->usage, claim->setting), unclaimed;

	if (claim->siblings_protected > claim->parent_effective)
		return skm_scale(protected, claim->parent_effective, claim->siblings_protected);
	if (!recursive || claim->parent_effective <= claim->siblings_protected ||
	    claim->parent_usage <= claim->siblings_protected || claim->usage <= protected)
		return protected;
	unclaimed = claim->parent_effective - claim->siblings_protected;
	return protected + skm_scale(unclaimed, claim->usage - protected, claim->parent_usage - claim->siblings_protected);
}

static int read_cgroup(int dirfd, struct cgroup *ret, struct skm_err *err)
{
	struct cgroup cgroup;
	int r = skm_probe_memcg_in_use(dirfd, &cgroup.usage, err);

	for (int which = 0; r == 0 && which < PROTECTIONS; which++)
		r = skm_probe_memcg_file(dirfd, FILES[which], &cgroup.setting[which], err);
	if (r == 0)
		*ret = cgroup;
	return r;
}

/* Calls each(context, name, cgroup) for every cgroup in a directory that has the memory controller; one that goes meanwhile is
 * left out. */
static int for_each_child(int dirfd, void (*each)(void *context, const char *name, const struct cgroup *cgroup), void *context,
                          struct skm_err *err)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return skm_err_set_errno(err, code, "look at the cgroups beside it");
	}
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		cleanup_fd int child = -1;
		struct cgroup cgroup;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (child >= 0 && read_cgroup(child, &cgroup, NULL) == 0)
			each(context, entry->d_name, &cgroup);
	}
	return 0;
}

static void add_protected(void *context, const char *name, const struct cgroup *cgroup)
{
	struct level *level = context;

	(void)name;
	for (int which = 0; which < PROTECTIONS; which++)
		level->children_protected[which] += least(cgroup->usage, cgroup->setting[which]);
}

static void close_chain(struct chain *chain)
{
	for (unsigned int i = 0; i < chain->count; i++)
		skm_close_fd(&chain->levels[i].dirfd);
}

/* Opens and reads the levels; the sums of a level's children are there for every level but the first. */
static int read_chain(int dirfd, struct chain *chain, struct skm_err *err)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return skm_err_set_errno(err, errno, "open the cgroup");
	while (fd >= 0) {
		struct level *level = &chain->levels[chain->count];

		*level = (struct level){.dirfd = fd};
		chain->count++;
		r = read_cgroup(fd, &level->cgroup, err);
		if (r == 0 && chain->count > 1)
			r = for_each_child(fd, add_protected, level, err);
		if (r < 0)
			return r;
		fd = skm_probe_ancestor_open(fd);
		if (fd >= 0 && chain->count == DEPTH_MAX) {
			close(fd);
			return skm_err_set(err, E2BIG, "more than %d cgroups lie above it", DEPTH_MAX);
		}
	}
	return fd == -ENOENT ? 0 : skm_err_set_errno(err, -fd, "open the cgroup above");
}

/* From the top down. The first level below the root gets what it asks for: page_counter_calculate_protection takes the setting
 * as it stands there. */
static void compute(struct chain *chain)
{
	struct level *top = &chain->levels[chain->count - 1];

	for (int which = 0; which < PROTECTIONS; which++)
		top->effective[which] = top->cgroup.setting[which];
	for (unsigned int i = chain->count - 1; i > 0; i--) {
		const struct level *parent = &chain->levels[i];
		struct level *level = &chain->levels[i - 1];

		for (int which = 0; which < PROTECTIONS; which++) {
			const struct skm_protection_claim claim = {
			        .usage = level->cgroup.usage,
			        .setting = level->cgroup.setting[which],
			        .parent_usage = parent->cgroup.usage,
			        .parent_effective = parent->effective[which],
			        .siblings_protected = parent->children_protected[which],
			};

			level->effective[which] = skm_probe_effective_protection(&claim, chain->recursive);
		}
	}
}

/* The path of level i. */
static void name_level(const char *path, unsigned int i, char *ret, size_t size)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	while (i > 0 && skm_probe_ancestor_path(copy))
		i--;
	/* of a path that does not fit the end says more */
	snprintf(ret, size, "%s", strlen(copy) < size ? copy : copy + strlen(copy) - size + 1);
}

/* The topmost ancestor that leaves less than the container could use; the parent where each alone leaves enough, but not for
 * all of its children. */
static void find_cut(const struct chain *chain, const char *path, enum protection which, struct skm_protection *ret)
{
	const struct level *asked = &chain->levels[0];
	uint64_t need = least(asked->cgroup.usage, asked->cgroup.setting[which]);
	unsigned int i = chain->count - 1;

	need -= need / NOISE_PART;
	if (asked->effective[which] >= need || chain->count <= chain->own)
		return;
	while (i > chain->own && chain->levels[i].effective[which] >= need)
		i--;
	name_level(path, i, ret->cut_by, sizeof(ret->cut_by));
}

struct sharers {
	const struct chain *chain;
	const char *own_name;
	char *names;
	size_t size;
};

static bool has_share(const struct chain *chain, const struct cgroup *cgroup, enum protection which)
{
	const struct level *parent = &chain->levels[chain->own];

	if (parent->effective[which] == 0 || cgroup->usage == 0)
		return false;
	return cgroup->setting[which] > 0 || (chain->recursive && parent->effective[which] > parent->children_protected[which]);
}

/* Appends "a, b"; a name that does not fit is "…". */
static void add_sharer(void *context, const char *name, const struct cgroup *cgroup)
{
	static const char MORE[] = ", …";
	struct sharers *sharers = context;
	size_t length = strlen(sharers->names), room = sharers->size - length;
	const char *comma = length > 0 ? ", " : "";

	if (strcmp(name, sharers->own_name) == 0 ||
	    (!has_share(sharers->chain, cgroup, MIN) && !has_share(sharers->chain, cgroup, LOW)))
		return;
	if (strlen(comma) + strlen(name) + sizeof(MORE) <= room)
		snprintf(sharers->names + length, room, "%s%s", comma, name);
	else if (length >= strlen("…") && strcmp(sharers->names + length - strlen("…"), "…") != 0)
		snprintf(sharers->names + length, room, "%s", MORE);
}

static int find_sharers(const struct chain *chain, const char *path, struct skm_protection *ret, struct skm_err *err)
{
	char own[PATH_MAX];
	const char *slash;
	struct sharers sharers = {.chain = chain, .names = ret->shared_with, .size = sizeof(ret->shared_with)};

	if (chain->count <= chain->own)
		return 0; /* beside it lies the root's: each has its own there */
	name_level(path, chain->own - 1, own, sizeof(own));
	slash = strrchr(own, '/');
	sharers.own_name = slash ? slash + 1 : own;
	return for_each_child(chain->levels[chain->own].dirfd, add_sharer, &sharers, err);
}

int skm_probe_protection(int dirfd, const char *path, unsigned int own_levels, bool recursive, struct skm_protection *ret,
                         struct skm_err *err)
{
	struct chain chain = {.own = own_levels, .recursive = recursive};
	struct skm_protection protection = {.known = true};
	int r = read_chain(dirfd, &chain, err);

	if (r == 0) {
		compute(&chain);
		protection.effective_min_bytes = chain.levels[0].effective[MIN];
		protection.effective_low_bytes = chain.levels[0].effective[LOW];
		find_cut(&chain, path, MIN, &protection);
		find_cut(&chain, path, LOW, &protection);
		r = find_sharers(&chain, path, &protection, err);
	}
	close_chain(&chain);
	if (r == 0)
		*ret = protection;
	return r;
}
