/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json-text.h"

#include "base/cleanup.h"
#include "codec/json.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHITE " \t\n\r"

/* One member or element of a group, in a walk from the first to the last. */
struct item {
	size_t before;            /* just behind the bracket or the comma before it: where its spacing begins */
	struct skm_json_span key; /* with its quotes; empty in an array */
	struct skm_json_span value;
};

static size_t skip_space(const char *text, size_t at)
{
	return at + strspn(text + at, WHITE);
}

/* at: the opening quote. Returns where the string has ended. */
static size_t skip_string(const char *text, size_t at)
{
	for (at++; text[at] != '"'; at++)
		at += text[at] == '\\';
	return at + 1;
}

static size_t skip_value(const char *text, size_t at)
{
	size_t depth = 0;

	if (text[at] != '{' && text[at] != '[' && text[at] != '"')
		return at + strcspn(text + at, ",]}" WHITE);
	do {
		if (text[at] == '"') {
			at = skip_string(text, at);
			continue;
		}
		depth += text[at] == '{' || text[at] == '[';
		depth -= text[at] == '}' || text[at] == ']';
		at++;
	} while (depth > 0);
	return at;
}

/* The item whose spacing begins at `before`. Returns false at the end of the group. */
static bool read_item(const char *text, size_t before, struct item *ret)
{
	size_t at = skip_space(text, before);

	*ret = (struct item){.before = before};
	if (text[at] == '}' || text[at] == ']')
		return false;
	ret->value = (struct skm_json_span){at, skip_value(text, at)};
	at = skip_space(text, ret->value.end);
	if (text[at] == ':') {
		ret->key = ret->value;
		ret->value.begin = skip_space(text, at + 1);
		ret->value.end = skip_value(text, ret->value.begin);
	}
	return true;
}

/* Steps to the next one; false behind the last. */
static bool next_item(const char *text, struct item *item)
{
	size_t at = skip_space(text, item->value.end);

	return text[at] == ',' && read_item(text, at + 1, item);
}

static bool is_key(const char *text, struct skm_json_span key, const char *wanted)
{
	const struct skm_json_rules rules = {.name = "", .right = "", .text_max = SIZE_MAX, .depth_max = 1};
	cleanup_json struct json_object *string = NULL;
	size_t length = key.end - key.begin;

	if (!memchr(text + key.begin, '\\', length))
		return strlen(wanted) == length - 2 && strncmp(text + key.begin + 1, wanted, length - 2) == 0;
	/* written with escapes, of which JSON leaves many ways */
	return skm_json_read(text + key.begin, length, &rules, &string, NULL) == 0 &&
	       strcmp(json_object_get_string(string), wanted) == 0;
}

static bool is_null(const char *text, struct skm_json_span value)
{
	return text[value.begin] == 'n';
}

/* The last member of that key, null or not. */
static bool find_item(const struct skm_json_doc *doc, struct skm_json_span object, const char *key, struct item *ret)
{
	struct item item;
	bool found = false;

	if (doc->text[object.begin] != '{' || !read_item(doc->text, object.begin + 1, &item))
		return false;
	do {
		if (is_key(doc->text, item.key, key)) {
			*ret = item;
			found = true;
		}
	} while (next_item(doc->text, &item));
	return found;
}

static bool find_last(const struct skm_json_doc *doc, struct skm_json_span group, struct item *ret)
{
	struct item item;

	if (!read_item(doc->text, group.begin + 1, &item))
		return false;
	do
		*ret = item;
	while (next_item(doc->text, &item));
	return true;
}

/* Puts `text` where the span is. */
static int replace(struct skm_json_doc *doc, struct skm_json_span span, const char *text)
{
	size_t added = strlen(text), length = doc->length - (span.end - span.begin) + added;
	char *changed = malloc(length + 1);

	if (!changed)
		return -ENOMEM;
	memcpy(changed, doc->text, span.begin);
	memcpy(changed + span.begin, text, added);
	memcpy(changed + span.begin + added, doc->text + span.end, doc->length - span.end + 1);
	free(doc->text);
	doc->text = changed;
	doc->length = length;
	return 0;
}

/* Adds what is to stand behind the last item, or as the only one. */
static int append(struct skm_json_doc *doc, struct skm_json_span group, const char *text)
{
	cleanup_free char *whole = NULL;
	struct item last;
	size_t spacing;

	if (!find_last(doc, group, &last))
		return replace(doc, (struct skm_json_span){group.begin + 1, group.begin + 1}, text);
	spacing = strspn(doc->text + last.before, WHITE);
	if (asprintf(&whole, ",%.*s%s", (int)spacing, doc->text + last.before, text) < 0)
		return -ENOMEM;
	return replace(doc, (struct skm_json_span){last.value.end, last.value.end}, whole);
}

struct skm_json_span skm_json_text_root(const struct skm_json_doc *doc)
{
	size_t begin = skip_space(doc->text, 0);

	return (struct skm_json_span){begin, skip_value(doc->text, begin)};
}

bool skm_json_text_find(const struct skm_json_doc *doc, struct skm_json_span object, const char *key, struct skm_json_span *ret)
{
	struct item item;

	if (!find_item(doc, object, key, &item) || is_null(doc->text, item.value))
		return false;
	*ret = item.value;
	return true;
}

int skm_json_text_add_member(struct skm_json_doc *doc, struct skm_json_span object, const char *key, const char *value)
{
	cleanup_free char *member = NULL;
	struct item item;
	bool spaced = !find_last(doc, object, &item) || doc->text[item.value.begin - 1] != ':';

	if (find_item(doc, object, key, &item))
		return replace(doc, item.value, value);
	if (asprintf(&member, "\"%s\":%s%s", key, spaced ? " " : "", value) < 0)
		return -ENOMEM;
	return append(doc, object, member);
}

int skm_json_text_add_element(struct skm_json_doc *doc, struct skm_json_span array, const char *value)
{
	return append(doc, array, value);
}

int skm_json_text_remove_member(struct skm_json_doc *doc, struct skm_json_span object, const char *key)
{
	struct skm_json_span span;
	struct item item;
	size_t behind;

	if (!find_item(doc, object, key, &item))
		return 0;
	span = (struct skm_json_span){item.key.begin, item.value.end};
	behind = skip_space(doc->text, item.value.end);
	if (doc->text[item.before - 1] == ',')
		span.begin = item.before - 1;
	else if (doc->text[behind] == ',')
		span.end = skip_space(doc->text, behind + 1);
	return replace(doc, span, "");
}
