/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: what a policy came to, as reports and journals hold it. */
#ifndef SKM_CODEC_GRANT_H
#define SKM_CODEC_GRANT_H

#include "codec/fields.h"
#include "model/policy.h"

/* One size: what was asked for and what is enforced; null is max. */
#define SKM_IN_FORCE_FIELDS(name, type, index)                                                                                   \
	static const struct skm_field name##_table[] = {                                                                         \
	        SKM_BOOL("set", type, in_force[index].set),                                                                      \
	        SKM_BOOL("cut", type, in_force[index].cut),                                                                      \
	        SKM_WORD("cut_by", type, in_force[index].cut_by, skm_cut_names),                                                 \
	        SKM_U64_OR_NULL("asked_bytes", type, in_force[index].asked_bytes, UINT64_MAX),                                   \
	        SKM_U64_OR_NULL("bytes", type, in_force[index].bytes, UINT64_MAX),                                               \
	};                                                                                                                       \
	static const struct skm_fields name##_fields = SKM_FIELDS(name##_table)

#define SKM_SOURCE_FIELD(name, type, key) SKM_WORD(name, type, sources[key], skm_policy_source_names)

/* Defines in_force_fields and sources_fields for a struct that has these two members. */
#define SKM_GRANT_FIELDS(type)                                                                                                   \
	SKM_IN_FORCE_FIELDS(limit, type, SKM_IN_FORCE_LIMIT);                                                                    \
	SKM_IN_FORCE_FIELDS(min, type, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MIN);                                               \
	SKM_IN_FORCE_FIELDS(low, type, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_LOW);                                               \
	SKM_IN_FORCE_FIELDS(high, type, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_HIGH);                                             \
	SKM_IN_FORCE_FIELDS(max, type, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX);                                               \
	static const struct skm_field in_force_table[] = {                                                                       \
	        SKM_OBJECT("tcpmem.limit", limit_fields), SKM_OBJECT("memory.min", min_fields),                                  \
	        SKM_OBJECT("memory.low", low_fields),     SKM_OBJECT("memory.high", high_fields),                                \
	        SKM_OBJECT("memory.max", max_fields),                                                                            \
	};                                                                                                                       \
	static const struct skm_fields in_force_fields = SKM_FIELDS(in_force_table);                                             \
	static const struct skm_field sources_table[] = {                                                                        \
	        SKM_SOURCE_FIELD("tcpmem.limit", type, SKM_KEY_TCPMEM_LIMIT),                                                    \
	        SKM_SOURCE_FIELD("tcpmem.mode", type, SKM_KEY_TCPMEM_MODE),                                                      \
	        SKM_SOURCE_FIELD("tcpmem.scope", type, SKM_KEY_TCPMEM_SCOPE),                                                    \
	        SKM_SOURCE_FIELD("memory.min", type, SKM_KEY_MEMORY_MIN),                                                        \
	        SKM_SOURCE_FIELD("memory.low", type, SKM_KEY_MEMORY_LOW),                                                        \
	        SKM_SOURCE_FIELD("memory.high", type, SKM_KEY_MEMORY_HIGH),                                                      \
	        SKM_SOURCE_FIELD("memory.max", type, SKM_KEY_MEMORY_MAX),                                                        \
	        SKM_SOURCE_FIELD("memory.propagate", type, SKM_KEY_MEMORY_PROPAGATE),                                            \
	        SKM_SOURCE_FIELD("throttle.sysctl", type, SKM_KEY_THROTTLE_SYSCTL),                                              \
	        SKM_SOURCE_FIELD("throttle.sockets", type, SKM_KEY_THROTTLE_SOCKETS),                                            \
	        SKM_SOURCE_FIELD("throttle.tc", type, SKM_KEY_THROTTLE_TC),                                                      \
	        SKM_SOURCE_FIELD("throttle.reclaim", type, SKM_KEY_THROTTLE_RECLAIM),                                            \
	        SKM_SOURCE_FIELD("throttle.destroy", type, SKM_KEY_THROTTLE_DESTROY),                                            \
	        SKM_SOURCE_FIELD("throttle.protocols", type, SKM_KEY_THROTTLE_PROTOCOLS),                                        \
	        SKM_SOURCE_FIELD("throttle.floor", type, SKM_KEY_THROTTLE_FLOOR),                                                \
	        SKM_SOURCE_FIELD("throttle.egress", type, SKM_KEY_THROTTLE_EGRESS),                                              \
	        SKM_SOURCE_FIELD("pressure.some", type, SKM_KEY_PRESSURE_SOME),                                                  \
	        SKM_SOURCE_FIELD("pressure.window", type, SKM_KEY_PRESSURE_WINDOW),                                              \
	        SKM_SOURCE_FIELD("onError", type, SKM_KEY_ON_ERROR),                                                             \
	};                                                                                                                       \
	static const struct skm_fields sources_fields = SKM_FIELDS(sources_table)

#endif
