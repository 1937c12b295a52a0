/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: the fields that a record shares with reports and events. */
#ifndef SKM_CODEC_REPORT_H
#define SKM_CODEC_REPORT_H

#include "codec/fields.h"

/* Of struct skm_report. */
extern const struct skm_fields skm_report_fields;

#endif
