/* SPDX-License-Identifier: Apache-2.0 */
/* What the hook and the CLI ask of the enforcer. The version is that of the protocol: both sides refuse another one by name. */
#ifndef SKM_MODEL_REQUEST_H
#define SKM_MODEL_REQUEST_H

#include "model/policy.h"

#include <sys/types.h>

#define SKM_PROTOCOL_VERSION 1

enum skm_verb {
	SKM_VERB_REGISTER,  /* id, policy, pid; descriptors pidfd, cgroup, netns. Idempotent by id and cgroup */
	SKM_VERB_RELEASE,   /* id: the container ended (poststop) */
	SKM_VERB_LIST,      /* answers an array of reports */
	SKM_VERB_INSPECT,   /* id or a unique beginning of one: answers one report */
	SKM_VERB_EVENTS,    /* id, or none for all: answers an array of events, oldest first */
	SKM_VERB_PING,      /* answers the enforcer's version, pid and start */
	SKM_VERB_SET,       /* id, policy, limit_only, force: another policy for a container that is held; all of it or nothing */
	SKM_VERB_GIVE_BACK, /* id, or none for all: everything is put back and the container let go, though it lives */
	SKM_VERB_RECLAIM    /* id, reclaim_bytes: begins to reclaim; its report says how it goes */
};
extern const struct skm_names skm_verb_names;

/* The descriptors of a register request, in the order in which they travel. */
enum { SKM_FD_PID, SKM_FD_CGROUP, SKM_FD_NETNS, SKM_FD_COUNT };

struct skm_request {
	enum skm_verb verb;
	char id[SKM_ID_MAX + 1];
	pid_t pid;
	struct skm_policy policy;
	uint64_t program_bytes;    /* size of the container's program file; 0: not known */
	uint64_t kernel_tcp_bytes; /* what kernelTCP of config.json says beside the policy; 0: nothing */
	bool limit_only;           /* set: the policy's limit alone changes, all else stays */
	uint64_t reclaim_bytes;    /* reclaim: how much, above 0 */
	bool force;                /* set: memory.max may be lowered below what is in use */
	int fds[SKM_FD_COUNT];     /* owned by whoever holds the struct; -1 where there is none */
};

#define SKM_REQUEST_INIT ((struct skm_request){.policy = SKM_POLICY_INIT, .fds = {-1, -1, -1}})

/* The fixed places of a host. They are root's (mode 0700); no part of a name in them comes from a container. */
#define SKM_RUN_DIR "/run/sockmem"
#define SKM_SOCKET_PATH SKM_RUN_DIR "/sockmemd.sock"
#define SKM_JOURNAL_DIR SKM_RUN_DIR "/journal"
#define SKM_ENDED_DIR SKM_RUN_DIR "/ended"
#define SKM_HOOK_LOG SKM_RUN_DIR "/hook.log"

#endif
