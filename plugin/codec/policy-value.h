/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: a policy as a value of a larger document. */
#ifndef SKM_CODEC_POLICY_VALUE_H
#define SKM_CODEC_POLICY_VALUE_H

#include "codec/value.h"
#include "codec/writer.h"
#include "model/policy.h"

/* A policy as a person writes it: only what is not the default, and tcpmem may be a size alone. Reading sets ret->set; ret's
 * source and profile are left alone. ret is untouched on failure. Returns 0 or -EINVAL. */
int skm_policy_read_asked(const struct skm_place *place, struct json_object *value, struct skm_policy *ret, struct skm_err *err);

/* Writes the values that are set into the object in which the writer stands; reads back to the same policy. */
void skm_policy_write_asked(struct skm_writer *writer, const struct skm_policy *policy);

/* A policy as sockmem's own documents have it: every value, with source, profile, and the list of those that are set. What the
 * policy does not have is null. */
void skm_policy_write(struct skm_writer *writer, const char *key, const struct skm_policy *policy);

/* Reads it back. ret is untouched on failure. Returns 0 or -EINVAL. */
int skm_policy_read(const struct skm_place *place, struct json_object *value, struct skm_policy *ret, struct skm_err *err);

#endif
