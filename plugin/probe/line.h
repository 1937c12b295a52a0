/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the kernel's texts that begin with a name. For this room's own files. */
#ifndef SKM_PROBE_LINE_H
#define SKM_PROBE_LINE_H

#include <stddef.h>
#include <string.h>

/* What stands behind the name on the first line that begins with it and one of the characters `stops` behind it: "Udp" and ":"
 * finds " 1 2" of "Udp: 1 2". The stop is passed. NULL where there is no such line. */
static inline const char *skm_probe_find_line(const char *text, const char *name, const char *stops)
{
	size_t length = strlen(name);

	while (text && (strncmp(text, name, length) != 0 || text[length] == '\0' || !strchr(stops, text[length]))) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text ? text + length + 1 : NULL;
}

#endif
