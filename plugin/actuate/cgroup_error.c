/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/cgroup_error.h"

#include <errno.h>
#include <libcgroup.h>

/* libcgroup's numbers are its own; cgroup_get_last_errno has the kernel's for one of them. */
static int to_errno(int error)
{
	switch (error) {
	case ECGOTHER:
		return cgroup_get_last_errno() > 0 ? cgroup_get_last_errno() : EIO;
	case ECGROUPNOTOWNER:
	case ECGROUPNOTALLOWED:
		return EPERM;
	case ECGROUPNOTEXIST:
	case ECGROUPNOTMOUNTED:
	case ECGROUPSUBSYSNOTMOUNTED:
	case ECGROUPVALUENOTEXIST:
		return ENOENT;
	default:
		return EIO;
	}
}

int skm_actuate_cgroup_fail(int error, const char *name, const char *step, struct skm_err *err)
{
	return skm_err_set(err, to_errno(error), "cgroup /%s: %s: %s", name, step, cgroup_strerror(error));
}
