/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/netns_group.h"

#include "enforcer/apply.h"
#include "enforcer/container.h"
#include "enforcer/registry.h"

#include <stdlib.h>
#include <string.h>

static struct skm_netns_group *find_group(struct skm_registry *registry, uint64_t inode)
{
	struct skm_netns_group *group = *skm_registry_groups(registry);

	while (group && group->netns.inode != inode)
		group = group->next;
	return group;
}

/* What stands in the namespace now, while nothing of ours does. */
static int read_baselines(struct skm_netns_group *group, struct skm_err *err)
{
	char baseline[SKM_NETNS_KEYS][SKM_NETNS_TEXT_MAX];

	for (int key = 0; key < SKM_NETNS_KEYS; key++) {
		int r = skm_probe_netns_read(&group->netns, (enum skm_netns_key)key, baseline[key], err);

		if (r < 0)
			return r;
	}
	memcpy(group->baseline, baseline, sizeof(group->baseline));
	memset(group->written, 0, sizeof(group->written));
	memset(group->foreign, 0, sizeof(group->foreign));
	memset(group->backed_off, 0, sizeof(group->backed_off));
	return 0;
}

static int make_group(struct skm_registry *registry, int netns_fd, bool write, struct skm_netns_group **ret, struct skm_err *err)
{
	struct skm_netns_group *group = calloc(1, sizeof(*group)), **groups = skm_registry_groups(registry);
	int r;

	if (!group)
		return skm_err_set(err, ENOMEM, "out of memory");
	group->writable = write;
	r = skm_probe_netns_open(netns_fd, write, &group->netns, err);
	if (r == 0) {
		r = read_baselines(group, err);
		if (r < 0)
			skm_probe_netns_close(&group->netns);
	}
	if (r < 0) {
		free(group);
		return r;
	}
	group->next = *groups;
	*ret = *groups = group;
	return 0;
}

static void drop_group(struct skm_registry *registry, struct skm_netns_group *group)
{
	struct skm_netns_group **link = skm_registry_groups(registry);

	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	skm_probe_netns_close(&group->netns);
	free(group);
}

static int make_writable(struct skm_netns_group *group, int netns_fd, struct skm_err *err)
{
	struct skm_netns netns;
	int r = skm_probe_netns_open(netns_fd, true, &netns, err);

	if (r < 0)
		return r;
	skm_probe_netns_close(&group->netns);
	group->netns = netns;
	group->writable = true;
	return 0;
}

static void list_read_only(struct skm_container *container)
{
	const struct skm_netns *netns = &container->group->netns;

	for (int key = 0; key < SKM_NETNS_KEYS; key++)
		if (netns->read_only[key])
			skm_container_skip(container, "throttle.sysctl: %s cannot be written: %s",
			                   skm_apply_key_name((enum skm_netns_key)key), strerror(netns->read_only[key]));
}

static int become_writer(struct skm_container *container, int netns_fd, struct skm_err *err)
{
	struct skm_netns_group *group = container->group;
	int r = group->writable ? 0 : make_writable(group, netns_fd, err);

	if (r == 0 && group->writers == 0)
		r = read_baselines(group, err);
	if (r < 0)
		return r;
	group->writers++;
	container->is_writer = true;
	list_read_only(container);
	return 0;
}

int skm_netns_group_join(struct skm_container *container, int netns_fd, struct skm_err *err)
{
	struct skm_netns_group *group = find_group(container->registry, container->journal.netns_inode);
	int r = group ? 0 : make_group(container->registry, netns_fd, container->writes_sysctls, &group, err);

	if (r < 0)
		return r;
	group->members++;
	container->group = group;
	if (container->writes_sysctls)
		r = become_writer(container, netns_fd, err);
	if (r < 0)
		skm_netns_group_leave(container);
	return r;
}

int skm_netns_group_update(struct skm_container *container, struct skm_err *err)
{
	if (container->writes_sysctls && !container->is_writer)
		return become_writer(container, container->fds[SKM_FD_NETNS], err);
	if (container->is_writer && container->writes_sysctls)
		list_read_only(container); /* the list is made anew with each policy */
	if (!container->writes_sysctls && container->is_writer)
		skm_apply_restore_netns(container);
	return 0;
}

void skm_netns_group_leave(struct skm_container *container)
{
	struct skm_netns_group *group = container->group;

	if (!group)
		return;
	if (container->is_writer)
		group->writers--;
	container->is_writer = false;
	container->group = NULL;
	if (--group->members == 0)
		drop_group(container->registry, group);
}

void skm_netns_group_inherit(struct skm_container *container, const struct skm_journal *journal)
{
	struct skm_netns_group *group = container->group;

	if (!container->is_writer || group->writers > 1)
		return;
	for (int key = 0; key < SKM_NETNS_KEYS; key++) {
		if (!journal->baseline[key][0])
			continue;
		memcpy(group->written[key], group->baseline[key], sizeof(group->written[key]));
		memcpy(group->baseline[key], journal->baseline[key], sizeof(group->baseline[key]));
	}
}

bool skm_netns_group_is_shared(const struct skm_container *container)
{
	for (const struct skm_container *other = skm_registry_first(container->registry); other; other = skm_registry_next(other))
		if (other != container && other->group == container->group && other->governed_inode != container->governed_inode)
			return true;
	return false;
}

bool skm_netns_group_has_writer(struct skm_registry *registry, uint64_t inode)
{
	const struct skm_netns_group *group = find_group(registry, inode);

	return group && group->writers > 0;
}
