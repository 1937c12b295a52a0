/* SPDX-License-Identifier: Apache-2.0 */
/* What the hook reads: the state on stdin, and the bundle's config.json. */
#ifndef SKM_HOOK_INPUT_H
#define SKM_HOOK_INPUT_H

#include "base/err.h"
#include "codec/bundle.h"
#include "codec/state.h"

#include <stdint.h>

/* Reads the state from fd to its end and takes it apart. ret: untouched on failure, else for skm_codec_state_free.
 * deadline_usec: CLOCK_MONOTONIC. Returns 0; -ETIMEDOUT where the runtime kept the pipe open; -E2BIG; -EINVAL; -errno. */
int skm_hook_read_state(int fd, uint64_t deadline_usec, struct skm_state *ret, struct skm_err *err);

/* Reads the config.json of a bundle (an absolute path, not empty). ret: untouched on failure, else for skm_codec_bundle_free.
 * Returns 0; -ENOENT; -EINVAL; -E2BIG; -errno. */
int skm_hook_read_bundle(const char *path, struct skm_bundle *ret, struct skm_err *err);

#endif
