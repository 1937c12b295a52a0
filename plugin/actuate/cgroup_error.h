/* SPDX-License-Identifier: Apache-2.0 */
/* What libcgroup says went wrong, as this project says it. For this room's own files. */
#ifndef SKM_ACTUATE_CGROUP_ERROR_H
#define SKM_ACTUATE_CGROUP_ERROR_H

#include "base/err.h"

/* error: of a libcgroup function, not 0 (for which cgroup_strerror says "Cgroup is not compiled in"). name: the cgroup below the
 * mount, without the slash before it. step: what was tried. Sets err and returns the negative errno: the kernel's where libcgroup
 * kept it, -EPERM, -ENOENT or -EIO. */
int skm_actuate_cgroup_fail(int error, const char *name, const char *step, struct skm_err *err);

#endif
