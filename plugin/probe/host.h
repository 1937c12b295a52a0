/* SPDX-License-Identifier: Apache-2.0 */
/* What this host can enforce, and why not more: `doctor`, and what `auto` takes. */
#ifndef SKM_PROBE_HOST_H
#define SKM_PROBE_HOST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum skm_memory_place { SKM_MEMORY_NONE, SKM_MEMORY_V1, SKM_MEMORY_V2 };

struct skm_host {
	char kernel[65]; /* uname -r */
	bool cgroup2_mounted;
	char cgroup2_path[256];
	enum skm_memory_place memory; /* where the memory controller is */
	bool recursive_protection;    /* cgroup2 is mounted with memory_recursiveprot (kernel 5.7 on; systemd does) */
	bool nosocket;                /* cgroup.memory=nosocket on the kernel's command line: sock is not counted */
	bool psi;                     /* /proc/pressure/memory can be read */
	bool btf;                     /* /sys/kernel/btf/vmlinux */
	bool bpf_fs;                  /* a bpf mount at /sys/fs/bpf */
	bool hard_built;              /* this build has the hard backend */
	uint64_t netns_inode;         /* the host's network namespace, pid 1's (our own where that may not be seen); 0: unknown */
	uint32_t processors;          /* online */
	uint64_t page_bytes;
	uint64_t charge_slack_bytes; /* processors x charge batch x page size: how far memory.stat may lag behind. batch 64
	                                from 6.1, 32 before */
};

/* prefix: "" for the running system, a directory of captured files in tests. Returns 0, or -errno where uname or /proc cannot be
 * read. */
int skm_probe_host(const char *prefix, struct skm_host *ret, struct skm_err *err);

/* Why soft mode cannot hold a limit here, or NULL where it can. limit_bytes: 0 where no limit is asked about. buffer is used for
 * the text. */
const char *skm_probe_host_soft_refusal(const struct skm_host *host, uint64_t limit_bytes, char *buffer, size_t size);

/* Why the kernel's own limit of cgroup v1 cannot be used here (a constant text), or NULL where it can. */
const char *skm_probe_host_v1_refusal(const struct skm_host *host);

/* Why auto does not take hard here (a constant text). */
const char *skm_probe_host_hard_refusal(const struct skm_host *host);

#endif
