/* SPDX-License-Identifier: Apache-2.0 */
#include "containerd.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "model/policy.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX (1024 * 1024)
#define BLANK " \t\r"

static const char *const ours[] = {SKM_ANNOTATION_POLICY, SKM_ANNOTATION_PROFILE, SKM_ANNOTATION_TCPMEM,
                                   SKM_ANNOTATION_CONTAINER "x"};
static const char *const shown[] = {SKM_ANNOTATION_POLICY, SKM_ANNOTATION_PROFILE, SKM_ANNOTATION_TCPMEM,
                                    SKM_ANNOTATION_CONTAINER "NAME"};
#define OURS (sizeof(ours) / sizeof(*ours))

/* What a table was found to pass: a bit for each of ours. */
struct table {
	struct skm_containerd_runtime *runtime; /* NULL: no runtime's table */
	uint32_t passes;
};

static void finish(struct table *table)
{
	char *missing = table->runtime ? table->runtime->missing : NULL;

	for (size_t i = 0; missing && i < OURS; i++)
		if (!(table->passes & (1U << i)))
			snprintf(missing + strlen(missing), sizeof(table->runtime->missing) - strlen(missing), "%s%s",
			         *missing ? ", " : "", shown[i]);
	*table = (struct table){0};
}

/* The name in `[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.NAME]`: the table right below "runtimes", of whatever
 * version. Returns its length; 0 for another table. */
static size_t runtime_name(const char *header, size_t length, const char **ret)
{
	const char *at = memmem(header, length, ".runtimes.", strlen(".runtimes."));
	size_t name;

	if (!at)
		return 0;
	at += strlen(".runtimes.");
	name = (size_t)(header + length - at);
	if (*at == '"' && name > 2 && at[name - 1] == '"') {
		at++;
		name -= 2;
	} else if (memchr(at, '.', name)) {
		return 0; /* a table inside the runtime's, of its options */
	}
	*ret = at;
	return name;
}

/* At '[' of a header. Returns where its line ends. */
static const char *read_header(const char *at, struct table *table, struct skm_containerd *ret)
{
	const char *begin = at + 1, *name;
	size_t length = strcspn(begin, "]\n"), name_length;

	finish(table);
	name_length = runtime_name(begin, length, &name);
	if (name_length > 0 && ret->count < SKM_CONTAINERD_RUNTIMES_MAX) {
		table->runtime = &ret->runtimes[ret->count++];
		snprintf(table->runtime->name, sizeof(table->runtime->name), "%.*s", (int)name_length, name);
	}
	return begin + length + strcspn(begin + length, "\n");
}

/* containerd matches with Go's path.Match, whose * does not match a slash. */
static uint32_t matches(const char *pattern, size_t length)
{
	char text[256];
	uint32_t found = 0;

	if (length >= sizeof(text))
		return 0;
	memcpy(text, pattern, length);
	text[length] = '\0';
	for (size_t i = 0; i < OURS; i++)
		if (fnmatch(text, ours[i], FNM_PATHNAME) == 0)
			found |= 1U << i;
	return found;
}

/* Behind `pod_annotations =`: an array of strings, over lines. Returns where it ends. */
static const char *read_patterns(const char *at, struct table *table)
{
	while (*at && *at != ']') {
		char quote = *at;
		const char *end;

		if (quote == '#') {
			at += strcspn(at, "\n");
			continue;
		}
		at++;
		if (quote != '"' && quote != '\'')
			continue;
		end = at + strcspn(at, quote == '"' ? "\"\n" : "'\n");
		if (*end != quote)
			return end;
		table->passes |= matches(at, (size_t)(end - at));
		at = end + 1;
	}
	return at;
}

static const char *read_line(const char *at, struct table *table, struct skm_containerd *ret)
{
	static const char key[] = "pod_annotations";

	at += strspn(at, BLANK);
	if (*at == '[')
		return read_header(at, table, ret);
	if (strncmp(at, key, strlen(key)) == 0) {
		const char *value = at + strlen(key);

		value += strspn(value, BLANK);
		if (*value == '=')
			at = read_patterns(value + 1 + strspn(value + 1, BLANK), table);
	}
	return at + strcspn(at, "\n");
}

void skm_cli_containerd_parse(const char *text, struct skm_containerd *ret)
{
	struct table table = {0};

	*ret = (struct skm_containerd){.found = true};
	while (*text) {
		text = read_line(text, &table, ret);
		text += *text == '\n';
	}
	finish(&table);
}

void skm_cli_containerd_look(const char *path, struct skm_containerd *ret)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup_free char *text = NULL;
	size_t length;

	*ret = (struct skm_containerd){0};
	if (fd >= 0 && skm_read_to_end(fd, TEXT_MAX, &text, &length) == 0)
		skm_cli_containerd_parse(text, ret);
}
