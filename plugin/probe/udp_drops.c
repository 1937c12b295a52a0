/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/udp_drops.h"

#include "base/io.h"
#include "probe/line.h"
#include "probe/number.h"

#include <errno.h>
#include <string.h>

/* How many words stand before `name` on a line, or -1. */
static int column_of(const char *line, const char *name)
{
	size_t length = strlen(name);

	for (int column = 0; *line == ' '; column++) {
		size_t word;

		line++;
		word = strcspn(line, " \n");
		if (word == length && memcmp(line, name, length) == 0)
			return column;
		line += word;
	}
	return -1;
}

int skm_probe_snmp_value(const char *text, const char *proto, const char *name, uint64_t *ret)
{
	const char *names = skm_probe_find_line(text, proto, ":"), *next = names ? strchr(names, '\n') : NULL;
	const char *numbers = next ? skm_probe_find_line(next + 1, proto, ":") : NULL;
	int column = names ? column_of(names, name) : -1;
	uint64_t value;

	if (column < 0)
		return -ENOENT;
	for (int i = 0; numbers && i <= column; i++) {
		if (*numbers++ != ' ')
			return -EINVAL;
		if (i < column)
			numbers += strcspn(numbers, " \n");
	}
	if (!numbers || !skm_probe_digits(&numbers, &value) || (*numbers != ' ' && *numbers != '\n'))
		return -EINVAL;
	*ret = value;
	return 0;
}

int skm_probe_snmp6_value(const char *text, const char *name, uint64_t *ret)
{
	const char *at = skm_probe_find_line(text, name, " \t");
	uint64_t value;

	if (!at)
		return -ENOENT;
	at += strspn(at, " \t");
	if (!skm_probe_digits(&at, &value) || *at != '\n')
		return -EINVAL;
	*ret = value;
	return 0;
}

static int read_udp(int fd, bool six, struct skm_udp_drops *ret)
{
	char text[16384]; /* snmp6 has a hundred lines of up to 50 bytes */
	ssize_t length = skm_pread_text(fd, text, sizeof(text));
	struct skm_udp_drops drops = {0};
	int r;

	if (length < 0)
		return (int)length;
	r = six ? skm_probe_snmp6_value(text, "Udp6RcvbufErrors", &drops.rcvbuf_errors)
	        : skm_probe_snmp_value(text, "Udp", "RcvbufErrors", &drops.rcvbuf_errors);
	if (r < 0)
		return r;
	r = six ? skm_probe_snmp6_value(text, "Udp6MemErrors", &drops.mem_errors)
	        : skm_probe_snmp_value(text, "Udp", "MemErrors", &drops.mem_errors);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = drops;
	return 0;
}

int skm_probe_netns_udp_drops(const struct skm_netns *netns, struct skm_udp_drops *ret, struct skm_err *err)
{
	struct skm_udp_drops four, six = {0};
	int r = netns->snmp < 0 ? -ENOENT : read_udp(netns->snmp, false, &four);

	if (r == 0 && netns->snmp6 >= 0)
		r = read_udp(netns->snmp6, true, &six);
	if (r == -ENOENT)
		return skm_err_set(err, ENOENT, "the kernel does not count UDP drops");
	if (r < 0)
		return skm_err_set_errno(err, -r, "read snmp of the network namespace");
	ret->rcvbuf_errors = four.rcvbuf_errors + six.rcvbuf_errors;
	ret->mem_errors = four.mem_errors + six.mem_errors;
	return 0;
}
