/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: a policy as a value of a larger document. */
#ifndef SKM_CODEC_POLICY_VALUE_H
#define SKM_CODEC_POLICY_VALUE_H

#include "codec/value.h"
#include "codec/writer.h"
#include "model/policy.h"

/* Writes the canonical policy as an object, with its source, which an annotation never has. */
void skm_policy_write(struct skm_writer *writer, const char *key, const struct skm_policy *policy);

/* Reads it back. ret is untouched on failure. Returns 0 or -EINVAL. */
int skm_policy_read(const struct skm_place *place, struct json_object *value, struct skm_policy *ret, struct skm_err *err);

#endif
