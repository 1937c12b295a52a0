/* SPDX-License-Identifier: Apache-2.0 */
/* One container's report for a person. */
#ifndef SKM_CLI_REPORT_H
#define SKM_CLI_REPORT_H

#include "model/report.h"

/* On stdout: first whether it is the sockets, then what sockmem did and why, then the details. */
void skm_cli_print_report(const struct skm_report *report);

#endif
