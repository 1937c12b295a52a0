/* SPDX-License-Identifier: Apache-2.0 */
/* The node file: /etc/sockmem/sockmem.json, schemas/node.schema.json. */
#ifndef SKM_CODEC_NODE_H
#define SKM_CODEC_NODE_H

#include "base/err.h"
#include "model/node.h"

#include <stddef.h>

/* Parses a node file. What it does not have is as in SKM_NODE_INIT.
 * name: how the document is called in errors, "/etc/sockmem/sockmem.json".
 * ret: untouched on failure, else to be given to skm_codec_node_free.
 * Errors name the document, the place ($.profiles["front-end"].tcpmem.limit), what is wrong and what would be right. Returns 0;
 * -EINVAL for every fault of the document; -E2BIG over SKM_NODE_TEXT_MAX bytes; -ENOMEM. */
int skm_codec_node_parse(const char *text, size_t length, const char *name, struct skm_node *ret, struct skm_err *err);

/* Frees what the struct owns; twice does no harm. */
void skm_codec_node_free(struct skm_node *node);

#endif
