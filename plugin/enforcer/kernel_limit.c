/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/kernel_limit.h"

#include "actuate/kernel_limit.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "enforcer/container.h"
#include "enforcer/journal.h"
#include "enforcer/registry.h"
#include "enforcer/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

static const char *size_text(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX])
{
	return bytes == UINT64_MAX ? "none" : skm_bytes_human(bytes, buffer);
}

static uint64_t kept(const struct skm_container *container, uint64_t bytes)
{
	return skm_probe_memcg_kept(bytes, skm_registry_host(container->registry)->page_bytes);
}

/* Ours still stands, as far as can be read. */
static bool stands(const struct skm_container *container, struct skm_memcg_v1_tcp *ret)
{
	const struct skm_kernel_limit *limit = &container->journal.kernel_limit;

	return skm_probe_memcg_v1_tcp(skm_topology_governed(container), ret, NULL) == 0 &&
	       ret->limit_bytes == kept(container, limit->written);
}

static int write_limit(struct skm_container *container, uint64_t bytes, struct skm_err *err)
{
	struct skm_kernel_limit *limit = &container->journal.kernel_limit, before = *limit;
	char was[SKM_SIZE_TEXT_MAX], is[SKM_SIZE_TEXT_MAX];
	int r;

	limit->touched = true;
	limit->written = bytes;
	r = skm_journal_save(container, err);
	if (r == 0)
		r = skm_actuate_kernel_limit_write(skm_topology_governed(container)->dir, bytes, err);
	if (r < 0) {
		*limit = before;
		return r;
	}
	skm_container_tell(container, SKM_EVENT_MEMORY, "memory.kmem.tcp.limit_in_bytes: %s (was %s)", size_text(bytes, is),
	                   size_text(before.written, was));
	return 0;
}

int skm_kernel_limit_apply(struct skm_container *container, struct skm_err *err)
{
	const struct skm_memcg *governed = skm_topology_governed(container);
	struct skm_kernel_limit *limit = &container->journal.kernel_limit;
	bool ours = container->report.backend == SKM_BACKEND_V1;
	struct skm_memcg_v1_tcp now;
	uint64_t want;
	int r;

	if (!governed->v1 || (!ours && !limit->touched))
		return 0;
	if (!limit->touched) {
		r = skm_probe_memcg_v1_tcp(governed, &now, err);
		if (r < 0)
			return r;
		limit->baseline = limit->written = now.limit_bytes;
	}
	want = ours ? container->report.limit_bytes : limit->baseline;
	return kept(container, want) == kept(container, limit->written) && limit->touched ? 0 : write_limit(container, want, err);
}

static void tell_foreign(struct skm_container *container, uint64_t found)
{
	struct skm_kernel_limit *limit = &container->journal.kernel_limit;
	char was[SKM_SIZE_TEXT_MAX], is[SKM_SIZE_TEXT_MAX];
	struct skm_err err = SKM_ERR_INIT;

	skm_container_tell(
	        container, SKM_EVENT_FOREIGN,
	        "memory.kmem.tcp.limit_in_bytes was %s and has become %s: someone else writes it, sockmem leaves it alone",
	        size_text(limit->written, was), size_text(found, is));
	*limit = (struct skm_kernel_limit){0};
	if (skm_journal_save(container, &err) < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
}

int skm_kernel_limit_look(struct skm_container *container, struct skm_err *err)
{
	struct skm_report *report = &container->report;
	struct skm_memcg_v1_tcp now;
	int r;

	if (report->backend != SKM_BACKEND_V1)
		return 0;
	r = skm_probe_memcg_v1_tcp(skm_topology_governed(container), &now, err);
	if (r < 0)
		return r;
	report->sock_peak_bytes = now.max_usage_bytes;
	report->over_limit = now.failcnt;
	if (container->journal.kernel_limit.touched &&
	    now.limit_bytes != kept(container, container->journal.kernel_limit.written))
		tell_foreign(container, now.limit_bytes);
	return 0;
}

void skm_kernel_limit_give_back(struct skm_container *container)
{
	struct skm_kernel_limit *limit = &container->journal.kernel_limit;
	char baseline[SKM_SIZE_TEXT_MAX];
	struct skm_err err = SKM_ERR_INIT;
	struct skm_memcg_v1_tcp now;
	int r;

	if (!limit->touched || !stands(container, &now))
		return;
	r = skm_actuate_kernel_limit_write(skm_topology_governed(container)->dir, limit->baseline, &err);
	limit->touched = r < 0 && r != -ENODEV;
	if (r == 0)
		skm_container_tell(container, SKM_EVENT_RESTORED, "memory.kmem.tcp.limit_in_bytes is %s again",
		                   size_text(limit->baseline, baseline));
	else if (r != -ENODEV)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
}

void skm_kernel_limit_restore(const struct skm_journal *journal)
{
	cleanup_fd int fd = -1;
	struct skm_err err = SKM_ERR_INIT;
	struct stat st;

	if (!journal->kernel_limit.touched)
		return;
	fd = open(journal->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != journal->cgroup_inode)
		return;
	if (skm_actuate_kernel_limit_write(fd, journal->kernel_limit.baseline, &err) < 0)
		skm_log(LOG_WARNING, "%s: %s", journal->id, err.text);
}
