/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/netns_sysctl.h"

#include "base/io.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const NAMES[SKM_NETNS_KEYS] = {
        [SKM_NETNS_TCP_RMEM] = "tcp_rmem",
        [SKM_NETNS_TCP_WMEM] = "tcp_wmem",
        [SKM_NETNS_NOTSENT_LOWAT] = "tcp_notsent_lowat",
};

/* By value: the kernel prints tabs where we wrote spaces. */
static bool same_value(enum skm_netns_key key, const char *left, const char *right)
{
	uint64_t a[3], b[3];

	if (key == SKM_NETNS_NOTSENT_LOWAT)
		return strcmp(left, right) == 0;
	return skm_probe_triple(left, a) == 0 && skm_probe_triple(right, b) == 0 && memcmp(a, b, sizeof(a)) == 0;
}

int skm_actuate_netns_write(const struct skm_netns *netns, enum skm_netns_key key, const char *text, struct skm_err *err)
{
	char now[SKM_NETNS_TEXT_MAX];
	int r = skm_pwrite_text(netns->sysctl[key], text);

	if (r < 0)
		return skm_err_set_errno(err, -r, "write \"%s\" to the container's %s", text, NAMES[key]);
	r = skm_probe_netns_read(netns, key, now, err);
	if (r < 0)
		return r;
	if (!same_value(key, text, now))
		return skm_err_set(err, EIO, "the container's %s took \"%s\" where \"%s\" was written", NAMES[key], now, text);
	return 0;
}
