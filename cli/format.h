/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#ifndef SKM_CLI_FORMAT_H
#define SKM_CLI_FORMAT_H

#include <stdint.h>

#define SKM_FORMAT_MAX 48

/* "97.5 %"; "-" where whole is 0 or UINT64_MAX (no limit), or part is (not known). Each returns its buffer. */
const char *skm_cli_percent(uint64_t part, uint64_t whole, char buffer[SKM_FORMAT_MAX]);

/* The same for a narrow column: "98%". */
const char *skm_cli_percent_short(uint64_t part, uint64_t whole, char buffer[SKM_FORMAT_MAX]);

/* "0.3s", "12s", "3m12s", "2h05m", "4d07h", "120d". */
const char *skm_cli_duration(uint64_t usec, char buffer[SKM_FORMAT_MAX]);

/* From `since` to now, both of CLOCK_REALTIME; "0s" where the clock was set back. */
const char *skm_cli_age(uint64_t since_realtime_usec, uint64_t now_realtime_usec, char buffer[SKM_FORMAT_MAX]);

/* "2025-06-01 12:00:03.123", local time. */
const char *skm_cli_time(uint64_t realtime_usec, char buffer[SKM_FORMAT_MAX]);

/* What sockets hold: "32 MiB"; "unknown" for SKM_SOCK_UNKNOWN. */
const char *skm_cli_sock(uint64_t bytes, char buffer[SKM_FORMAT_MAX]);

/* "32 MiB"; "none" for UINT64_MAX. */
const char *skm_cli_bytes(uint64_t bytes, char buffer[SKM_FORMAT_MAX]);

#endif
