/* SPDX-License-Identifier: Apache-2.0 */
/* What an ended container went through, kept on disk until reboot: at 3 a.m. it is already dead. */
#ifndef SKM_ENFORCER_RECORD_H
#define SKM_ENFORCER_RECORD_H

#include "enforcer/container.h"

/* Bounds of all records together (DESIGN.md, section 8). */
#define SKM_RECORDS_MAX 1024
#define SKM_RECORDS_BYTES_MAX (UINT64_C(64) << 20)

/* Writes the record of a container whose report says ended, and removes the oldest that are past the bounds or older than
 * 7 days. Returns 0 or -errno with err set. */
int skm_record_save(const struct skm_container *container, struct skm_err *err);

/* Removes from dirfd the records past the bounds, oldest (by name) first. now_usec: CLOCK_REALTIME, for the age. */
void skm_record_trim(int dirfd, uint64_t now_usec, uint32_t max_files, uint64_t max_bytes);

#endif
