/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/host.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/units.h"
#include "probe/mountinfo.h"
#include "probe/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* MEMCG_CHARGE_BATCH of include/linux/memcontrol.h: 32, and 64 since 6.1 (1813e51eece0). */
#define CHARGE_BATCH_PAGES 64
#define CHARGE_BATCH_PAGES_BEFORE_6_1 32

/* prefix + path. The prefix is a test's: a path that does not fit comes out as one that does not exist. */
static const char *join(char buffer[PATH_MAX], const char *prefix, const char *path)
{
	if (snprintf(buffer, PATH_MAX, "%s%s", prefix, path) >= PATH_MAX)
		buffer[0] = '\0';
	return buffer;
}

static ssize_t read_text(const char *prefix, const char *path, char *text, size_t size)
{
	char full[PATH_MAX];

	return skm_read_text_at(AT_FDCWD, join(full, prefix, path), text, size);
}

static bool can_read(const char *prefix, const char *path)
{
	char full[PATH_MAX], byte;
	cleanup_fd int fd = open(join(full, prefix, path), O_RDONLY | O_CLOEXEC);

	/* open alone does not tell: /proc/pressure opens where reading is EOPNOTSUPP */
	return fd >= 0 && read(fd, &byte, 1) == 1;
}

static bool has_word(const char *text, const char *word, const char *separators)
{
	size_t length = strlen(word);

	while (*text) {
		size_t part = strcspn(text, separators);

		if (part == length && strncmp(text, word, length) == 0)
			return true;
		text += part;
		text += strspn(text, separators);
	}
	return false;
}

/* cgroup.memory=nosocket, also in a list ("nokmem,nosocket"), on the kernel's command line. */
static bool has_nosocket(const char *cmdline)
{
	static const char KEY[] = "cgroup.memory=";

	while (*cmdline) {
		size_t length = strcspn(cmdline, " \n");
		char value[64];

		if (length > sizeof(KEY) - 1 && strncmp(cmdline, KEY, sizeof(KEY) - 1) == 0) {
			snprintf(value, sizeof(value), "%.*s", (int)(length - (sizeof(KEY) - 1)), cmdline + sizeof(KEY) - 1);
			if (has_word(value, "nosocket", ","))
				return true;
		}
		cmdline += length;
		cmdline += strspn(cmdline, " \n");
	}
	return false;
}

/* /proc/cgroups, "memory <hierarchy> <cgroups> <enabled>": bound to a v1 hierarchy where that is not 0. */
static bool memory_on_v1(const char *cgroups)
{
	const char *line = strstr(cgroups, "\nmemory\t");
	uint64_t hierarchy;

	if (!line)
		return false;
	line += strlen("\nmemory\t");
	return skm_probe_digits(&line, &hierarchy) && hierarchy != 0;
}

static enum skm_memory_place find_memory(const char *prefix, const struct skm_host *host)
{
	char text[4096], path[sizeof(host->cgroup2_path) + 32];

	if (host->cgroup2_mounted) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", host->cgroup2_path);
		if (read_text(prefix, path, text, sizeof(text)) >= 0 && has_word(text, "memory", " \n"))
			return SKM_MEMORY_V2;
	}
	if (read_text(prefix, "/proc/cgroups", text, sizeof(text)) >= 0 && memory_on_v1(text))
		return SKM_MEMORY_V1;
	return SKM_MEMORY_NONE;
}

/* "0-3,5" → 5. 0 where the text is not such a list. */
static uint32_t count_processors(const char *list)
{
	uint64_t count = 0;

	for (;;) {
		uint64_t first, last;

		if (!skm_probe_digits(&list, &first))
			return 0;
		last = first;
		if (*list == '-' && (list++, !skm_probe_digits(&list, &last)))
			return 0;
		if (last < first || last > UINT16_MAX)
			return 0;
		count += last - first + 1;
		if (*list != ',')
			break;
		list++;
	}
	return *list == '\n' || *list == '\0' ? (uint32_t)count : 0;
}

static uint64_t charge_batch_pages(const char *kernel)
{
	unsigned int major = 0, minor = 0;

	if (sscanf(kernel, "%u.%u", &major, &minor) != 2)
		return CHARGE_BATCH_PAGES; /* the larger: a limit that is refused wrongly is seen, one missed is not */
	return major > 6 || (major == 6 && minor >= 1) ? CHARGE_BATCH_PAGES : CHARGE_BATCH_PAGES_BEFORE_6_1;
}

static int read_kernel(const char *prefix, struct skm_host *host, struct skm_err *err)
{
	ssize_t length = read_text(prefix, "/proc/sys/kernel/osrelease", host->kernel, sizeof(host->kernel));
	char online[1024];

	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read %s/proc/sys/kernel/osrelease", prefix);
	host->kernel[strcspn(host->kernel, "\n")] = '\0';
	if (read_text(prefix, "/sys/devices/system/cpu/online", online, sizeof(online)) >= 0)
		host->processors = count_processors(online);
	if (host->processors == 0)
		host->processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	host->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	host->charge_slack_bytes = host->processors * charge_batch_pages(host->kernel) * host->page_bytes;
	return 0;
}

/* Pid 1's; ours where a security module keeps pid 1 from us: a hook or the daemon runs in the host's. */
static uint64_t find_netns(const char *prefix)
{
	char path[PATH_MAX];
	struct stat st;

	if (stat(join(path, prefix, "/proc/1/ns/net"), &st) == 0 || stat(join(path, prefix, "/proc/self/ns/net"), &st) == 0)
		return st.st_ino;
	return 0;
}

int skm_probe_host(const char *prefix, struct skm_host *ret, struct skm_err *err)
{
	struct skm_host host = {0};
	char mountinfo[PATH_MAX], text[4096];
	int r = read_kernel(prefix, &host, err);

	if (r < 0)
		return r;
	join(mountinfo, prefix, "/proc/self/mountinfo");
	r = skm_probe_mount_find(mountinfo, "cgroup2", NULL, host.cgroup2_path, sizeof(host.cgroup2_path));
	if (r < 0 && r != -ENOENT)
		return skm_err_set_errno(err, -r, "look for cgroup2 in %s", mountinfo);
	host.cgroup2_mounted = r == 0;
	host.memory = find_memory(prefix, &host);
	host.recursive_protection = skm_probe_mount_option(mountinfo, "cgroup2", "memory_recursiveprot") == 1;
	host.bpf_fs = skm_probe_mount_find(mountinfo, "bpf", "/sys/fs/bpf", text, sizeof(text)) == 0;
	host.nosocket = read_text(prefix, "/proc/cmdline", text, sizeof(text)) >= 0 && has_nosocket(text);
	host.psi = can_read(prefix, "/proc/pressure/memory");
	host.btf = can_read(prefix, "/sys/kernel/btf/vmlinux");
	host.netns_inode = find_netns(prefix);
	*ret = host;
	return 0;
}

const char *skm_probe_host_soft_refusal(const struct skm_host *host, uint64_t limit_bytes, char *buffer, size_t size)
{
	char limit[SKM_SIZE_TEXT_MAX], slack[SKM_SIZE_TEXT_MAX];
	const char *text = NULL;

	if (host->memory == SKM_MEMORY_V1)
		text = "the memory controller is on cgroup v1 here; use mode v1 or auto";
	else if (!host->cgroup2_mounted)
		text = "no cgroup v2 is mounted here";
	else if (host->memory != SKM_MEMORY_V2)
		text = "cgroup v2 has no memory controller here (cgroup_disable=memory?)";
	else if (host->nosocket)
		text = "the kernel was started with cgroup.memory=nosocket: it does not count socket memory";
	if (text) {
		snprintf(buffer, size, "%s", text);
		return buffer;
	}
	if (limit_bytes == 0 || limit_bytes >= host->charge_slack_bytes)
		return NULL;
	snprintf(buffer, size,
	         "the limit of %s (%" PRIu64 " bytes) is below what memory.stat may lag behind on %" PRIu32
	         " processors; ask for at least %s (%" PRIu64 " bytes), or for mode observe",
	         skm_bytes_human(limit_bytes, limit), limit_bytes, host->processors,
	         skm_bytes_human(host->charge_slack_bytes, slack), host->charge_slack_bytes);
	return buffer;
}

const char *skm_probe_host_v1_refusal(const struct skm_host *host)
{
	if (host->memory == SKM_MEMORY_V1)
		return NULL;
	return host->memory == SKM_MEMORY_V2 ? "v1: the memory controller is on cgroup v2 here"
	                                     : "v1: there is no memory controller here";
}

const char *skm_probe_host_hard_refusal(const struct skm_host *host)
{
	if (!host->hard_built)
		return "hard: this build has no BPF backend";
	if (!host->btf)
		return "hard: the kernel has no type information (/sys/kernel/btf/vmlinux)";
	return "hard: no BPF filesystem is mounted at /sys/fs/bpf";
}
