/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups above a container's, and which of them are ours to write. */
#ifndef SKM_PROBE_ANCESTRY_H
#define SKM_PROBE_ANCESTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens the directory above a cgroup's. Returns a descriptor; -ENOENT at the top: above lies the root cgroup, which nothing
 * protects or limits (it has no memory.low), or the end of the mount; -errno. */
int skm_probe_ancestor_open(int dirfd);

/* Cuts the last component off a cgroup's path. Returns false, and changes nothing, where it has only one. */
bool skm_probe_ancestor_path(char *path);

/* Why an ancestor is not ours to write (a text in buffer), or NULL where it is. It is not where the subtree below it was
 * delegated to whoever made the container: its owner is another than `manager`, the owner of the container's parent; systemd
 * marked it as delegated, so that its own files belong to the level above (systemd.resource-control(5), Delegate=; the extended
 * attributes trusted.delegate and user.delegate); or it is the root of this mount, as in a private cgroup namespace. */
const char *skm_probe_ancestor_refusal(int dirfd, uid_t manager, char *buffer, size_t size);

/* Whether a cgroup is a pod's, by its path: ".../kubepods/.../podUID" and "kubepods-...-podUID.slice" of the kubelet,
 * "machine-libpod_pod_ID.slice" of podman. */
bool skm_probe_is_pod(const char *path);

/* Whether the cgroup at path is the inner of two that are one container's, alone in the outer one: crun under systemd makes
 * SCOPE/container (annotation run.oci.systemd.subgroup) and puts the limits at both (libcrun/cgroup-systemd.c, 1.8.1). id: the
 * container's. */
bool skm_probe_is_nested(int dirfd, const char *path, const char *id);

#endif
