/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as OpenMetrics 1.0, the text that Prometheus scrapes (https://prometheus.io/docs/specs/om/open_metrics_spec/). */
#ifndef SKM_CODEC_OPENMETRICS_H
#define SKM_CODEC_OPENMETRICS_H

#include "model/report.h"

#include <stddef.h>

/* One family after the other, in each a sample per container, labelled with its id and cgroup; bytes and seconds. What the kernel
 * does not count and a limit that there is not are left out. Ends in "# EOF". The caller frees it; NULL: out of memory. */
char *skm_codec_openmetrics_format(const struct skm_report *const *reports, size_t count);

#endif
