/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/cgroup_ids.h"

#include "probe/cgroup_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct id_list {
	uint64_t *ids;
	size_t count, room;
};

/* A cgroup's id is its directory's inode on 64 bits (kernfs_id_ino, include/linux/kernfs.h). */
static int add_id(int cgroup_fd, void *data)
{
	struct id_list *list = data;
	struct stat st;

	if (fstat(cgroup_fd, &st) < 0)
		return 0;
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		uint64_t *larger = reallocarray(list->ids, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		list->ids = larger;
		list->room = room;
	}
	list->ids[list->count++] = st.st_ino;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

int skm_actuate_cgroup_ids(int cgroup_fd, uint64_t **ret, size_t *ret_count, struct skm_err *err)
{
	struct id_list list = {0};

	if (skm_probe_cgroup_walk(cgroup_fd, add_id, &list) < 0) {
		free(list.ids);
		return skm_err_set(err, ENOMEM, "list the cgroups of a container: out of memory");
	}
	if (list.count > 0)
		qsort(list.ids, list.count, sizeof(*list.ids), ascending);
	*ret = list.ids;
	*ret_count = list.count;
	return 0;
}
