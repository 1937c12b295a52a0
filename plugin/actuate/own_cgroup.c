/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/own_cgroup.h"

#include "actuate/cgroup_error.h"
#include "probe/host.h"

#include <errno.h>
#include <libcgroup.h>
#include <string.h>

static int create_and_enter(struct cgroup *cgroup, const char *name, struct skm_err *err)
{
	int error;

	/* libcgroup 2.0.2 makes and enters a v2 cgroup only by its controllers */
	if (!cgroup_add_controller(cgroup, "memory"))
		return skm_err_set(err, EIO, "cgroup /%s: libcgroup takes no memory controller", name);
	error = cgroup_create_cgroup(cgroup, 1);
	if (error != 0)
		return skm_actuate_cgroup_fail(error, name, "create", err);
	error = cgroup_attach_task(cgroup);
	return error != 0 ? skm_actuate_cgroup_fail(error, name, "enter", err) : 0;
}

int skm_actuate_own_cgroup(const char *name, struct skm_err *err)
{
	struct skm_host host;
	struct cgroup *cgroup;
	int r = skm_probe_host("", &host, err), error;

	if (r < 0)
		return r;
	if (!*name || *name == '.' || strchr(name, '/'))
		return skm_err_set(err, EINVAL, "\"%s\" is no name for a cgroup", name);
	if (host.memory != SKM_MEMORY_V2)
		return skm_err_set(err, EOPNOTSUPP, "cgroup /%s: the memory controller is not on cgroup v2 here", name);
	error = cgroup_init();
	if (error != 0)
		return skm_actuate_cgroup_fail(error, name, "start libcgroup", err);
	cgroup = cgroup_new_cgroup(name);
	if (!cgroup)
		return skm_err_set_errno(err, ENOMEM, "cgroup /%s", name);
	r = create_and_enter(cgroup, name, err);
	cgroup_free(&cgroup);
	return r;
}
