/* SPDX-License-Identifier: Apache-2.0 */
/* One container's report for a person. */
#ifndef SKM_CLI_REPORT_H
#define SKM_CLI_REPORT_H

#include "model/report.h"

/* On stdout: first whether it is the sockets, then what sockmem did and why, then the details. */
void skm_cli_print_report(const struct skm_report *report);

/* In a line what holds it now, and in one each what is not applied. */
void skm_cli_print_in_force(const struct skm_report *report);

/* What is in force otherwise than it was asked for, and what is not; a line each. */
void skm_cli_print_differences(const struct skm_report *report);
void skm_cli_print_skipped(const struct skm_report *report, const char *indent);

/* Every value of the policy in force, and where it came from. */
void skm_cli_print_policy(const struct skm_report *report);

#endif
