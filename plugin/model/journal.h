/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines: the values that stood before sockmem first wrote them. */
#ifndef SKM_MODEL_JOURNAL_H
#define SKM_MODEL_JOURNAL_H

#include "model/policy.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The sysctls of a network namespace that sockmem writes. */
enum skm_netns_key { SKM_NETNS_TCP_RMEM, SKM_NETNS_TCP_WMEM, SKM_NETNS_NOTSENT_LOWAT, SKM_NETNS_KEYS };

/* "4096\t131072\t6291456": the kernel's own text, without the newline. */
#define SKM_NETNS_TEXT_MAX 64

/* The sides of a socket, as SO_BUF_LOCK has them (linux/socket.h). */
#define SKM_SIDE_SEND 1U
#define SKM_SIDE_RECEIVE 2U

/* One open socket's settings before it was squeezed. */
struct skm_socket_baseline {
	uint64_t cookie;   /* SO_COOKIE */
	uint32_t rcvbuf;   /* sk_rcvbuf, bytes, as SO_RCVBUF reads it; 0: that side was never squeezed */
	uint32_t buf_lock; /* SO_BUF_LOCK: which buffers the program itself had locked, of the sides that were squeezed */
	uint32_t sndbuf;   /* sk_sndbuf, likewise */
	uint32_t renewed;  /* from the worker, never on disk: the sides that the program has set itself since they were squeezed,
	                      so that this is their baseline now */
};

/* A file of the memory controller that sockmem writes, in the container's cgroup or in an ancestor (propagate). In bytes;
 * UINT64_MAX: "max". */
struct skm_memory_baseline {
	char cgroup[4096];     /* path as the host sees it */
	uint64_t cgroup_inode; /* another one: that cgroup is gone, and so is what was written */
	enum skm_memory_file file;
	bool ancestor;     /* other containers may need it too: all that do know the same baseline and the same written */
	uint64_t baseline; /* what stood before the first of them wrote */
	uint64_t written;  /* ours, as soon as sockmem means to write it */
	uint64_t before;   /* ours before that, the baseline the first time: what stands where it never came to the write */
};

/* cgroup v1's own limit, memory.kmem.tcp.limit_in_bytes, in bytes; UINT64_MAX: none. */
struct skm_kernel_limit {
	bool touched;      /* sockmem has written it, or means to */
	uint64_t baseline; /* what stood before */
	uint64_t written;  /* the newest of ours */
};

/* Where sockmem shapes traffic: set as soon as it means to, until all of it is taken away again. What is ours there is known by
 * its own marks; this says where to look. */
#define SKM_SHAPE_LINKS_MAX 16
struct skm_shape_places {
	bool shaped;
	uint32_t host_ifindex;               /* of a veth's end in the host's network namespace; 0: none */
	uint32_t links[SKM_SHAPE_LINKS_MAX]; /* ifindexes in the container's */
	uint32_t link_count;
};

struct skm_journal {
	char id[SKM_ID_MAX + 1];
	char boot_id[40]; /* /proc/sys/kernel/random/boot_id */
	pid_t pid;
	uint64_t cgroup_inode, netns_inode;
	bool by_cgroup;    /* adopted with its cgroup by the administrator: it lives as long as that is not empty */
	char cgroup[4096]; /* path as the host sees it */
	/* As it was granted: a node file that has changed since does not change it. */
	struct skm_policy policy;
	struct skm_in_force in_force[SKM_IN_FORCE_COUNT];
	enum skm_policy_source sources[SKM_POLICY_KEYS];
	uint64_t kernel_tcp_bytes, program_bytes; /* as in skm_report */
	uint64_t started_realtime_usec;
	/* A key's baseline is set as soon as sockmem means to write it; written: the newest value of ours. Empty: never written.
	 */
	char baseline[SKM_NETNS_KEYS][SKM_NETNS_TEXT_MAX];
	char written[SKM_NETNS_KEYS][SKM_NETNS_TEXT_MAX];
	struct skm_socket_baseline *sockets; /* owned */
	uint32_t socket_count;
	struct skm_memory_baseline *memory; /* owned */
	uint32_t memory_count;
	struct skm_kernel_limit kernel_limit;
	struct skm_shape_places shape;
};

#endif
