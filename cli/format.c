/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"

#include "base/units.h"
#include "model/report.h"

#include <stdio.h>
#include <time.h>

const char *skm_cli_percent(uint64_t part, uint64_t whole, char buffer[SKM_FORMAT_MAX])
{
	if (whole == 0 || whole == UINT64_MAX || part == UINT64_MAX)
		snprintf(buffer, SKM_FORMAT_MAX, "-");
	else
		snprintf(buffer, SKM_FORMAT_MAX, "%.1f %%", 100.0 * (double)part / (double)whole);
	return buffer;
}

const char *skm_cli_percent_short(uint64_t part, uint64_t whole, char buffer[SKM_FORMAT_MAX])
{
	if (whole == 0 || whole == UINT64_MAX || part == UINT64_MAX)
		snprintf(buffer, SKM_FORMAT_MAX, "-");
	else
		snprintf(buffer, SKM_FORMAT_MAX, "%.0f%%", 100.0 * (double)part / (double)whole);
	return buffer;
}

const char *skm_cli_duration(uint64_t usec, char buffer[SKM_FORMAT_MAX])
{
	unsigned long long seconds = usec / SKM_USEC_PER_SEC;

	if (seconds < 10)
		snprintf(buffer, SKM_FORMAT_MAX, "%.1fs", (double)usec / (double)SKM_USEC_PER_SEC);
	else if (seconds < 60)
		snprintf(buffer, SKM_FORMAT_MAX, "%llus", seconds);
	else if (seconds < 3600)
		snprintf(buffer, SKM_FORMAT_MAX, "%llum%02llus", seconds / 60, seconds % 60);
	else if (seconds < 86400)
		snprintf(buffer, SKM_FORMAT_MAX, "%lluh%02llum", seconds / 3600, seconds / 60 % 60);
	else if (seconds >= 100 * 86400)
		snprintf(buffer, SKM_FORMAT_MAX, "%llud", seconds / 86400);
	else
		snprintf(buffer, SKM_FORMAT_MAX, "%llud%02lluh", seconds / 86400, seconds / 3600 % 24);
	return buffer;
}

const char *skm_cli_age(uint64_t since_realtime_usec, uint64_t now_realtime_usec, char buffer[SKM_FORMAT_MAX])
{
	return skm_cli_duration(now_realtime_usec > since_realtime_usec ? now_realtime_usec - since_realtime_usec : 0, buffer);
}

const char *skm_cli_time(uint64_t realtime_usec, char buffer[SKM_FORMAT_MAX])
{
	time_t seconds = (time_t)(realtime_usec / SKM_USEC_PER_SEC);
	char stamp[32];
	struct tm parts;

	if (!localtime_r(&seconds, &parts) || !strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &parts))
		snprintf(stamp, sizeof(stamp), "?");
	snprintf(buffer, SKM_FORMAT_MAX, "%s.%03u", stamp, (unsigned int)(realtime_usec / SKM_USEC_PER_MSEC % 1000));
	return buffer;
}

const char *skm_cli_bytes(uint64_t bytes, char buffer[SKM_FORMAT_MAX])
{
	char text[SKM_SIZE_TEXT_MAX];

	snprintf(buffer, SKM_FORMAT_MAX, "%s", bytes == UINT64_MAX ? "none" : skm_bytes_human(bytes, text));
	return buffer;
}

const char *skm_cli_sock(uint64_t bytes, char buffer[SKM_FORMAT_MAX])
{
	if (bytes != SKM_SOCK_UNKNOWN)
		return skm_cli_bytes(bytes, buffer);
	snprintf(buffer, SKM_FORMAT_MAX, "unknown");
	return buffer;
}
