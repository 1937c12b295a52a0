/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: the parts of reading a config.json that changing one needs too. */
#ifndef SKM_CODEC_BUNDLE_RULES_H
#define SKM_CODEC_BUNDLE_RULES_H

#include "codec/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKM_BUNDLE_NAME "config.json"

/* Reads the text: a JSON object. ret: a reference for the caller to put. Returns as skm_json_read. */
int skm_bundle_read(const char *text, size_t length, struct json_object **ret, struct skm_err *err);

/* *ret: what stands at the end of the chain of keys (which ends with NULL); NULL where one is absent or null. Borrowed.
 * Returns 0; -EINVAL where one on the way is no object. */
int skm_bundle_find(const struct skm_place *root, struct json_object *document, const char *const *keys, struct json_object **ret,
                    struct skm_err *err);

/* kernelTCP as skm_codec_bundle_parse has it. *ret_set: whether the key is there, with whatever value. Returns 0 or -EINVAL. */
int skm_bundle_kernel_tcp(const struct skm_place *root, struct json_object *document, bool *ret_set, uint64_t *ret_bytes,
                          struct skm_err *err);

#endif
