/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/journal.h"

#include "codec/fields.h"
#include "codec/grant.h"
#include "codec/json.h"
#include "model/request.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>

#define SYSCTL_FIELDS(name, which)                                                                                               \
	static const struct skm_field name##_table[] = {                                                                         \
	        SKM_TEXT("baseline", struct skm_journal, baseline[which]),                                                       \
	        SKM_TEXT("written", struct skm_journal, written[which]),                                                         \
	};                                                                                                                       \
	static const struct skm_fields name##_fields = SKM_FIELDS(name##_table)

SYSCTL_FIELDS(rmem, SKM_NETNS_TCP_RMEM);
SYSCTL_FIELDS(wmem, SKM_NETNS_TCP_WMEM);
SYSCTL_FIELDS(lowat, SKM_NETNS_NOTSENT_LOWAT);

static const struct skm_field sysctl_table[] = {
        SKM_OBJECT("tcp_rmem", rmem_fields),
        SKM_OBJECT("tcp_wmem", wmem_fields),
        SKM_OBJECT("tcp_notsent_lowat", lowat_fields),
};
static const struct skm_fields sysctl_fields = SKM_FIELDS(sysctl_table);

SKM_GRANT_FIELDS(struct skm_journal);

static const struct skm_field shape_table[] = {
        SKM_BOOL("shaped", struct skm_journal, shape.shaped),
        SKM_U32("host_ifindex", struct skm_journal, shape.host_ifindex),
};
static const struct skm_fields shape_fields = SKM_FIELDS(shape_table);

static const struct skm_field container_table[] = {
        SKM_VERSION_FIELD,
        SKM_TEXT("id", struct skm_journal, id),
        SKM_TEXT("boot_id", struct skm_journal, boot_id),
        SKM_PID("pid", struct skm_journal, pid),
        SKM_U64("cgroup_inode", struct skm_journal, cgroup_inode),
        SKM_U64("netns_inode", struct skm_journal, netns_inode),
        SKM_TEXT("cgroup", struct skm_journal, cgroup),
        SKM_BOOL("by_cgroup", struct skm_journal, by_cgroup),
        SKM_POLICY("policy", struct skm_journal, policy),
        SKM_OBJECT("in_force", in_force_fields),
        SKM_OBJECT("sources", sources_fields),
        SKM_U64("kernel_tcp_bytes", struct skm_journal, kernel_tcp_bytes),
        SKM_U64("program_bytes", struct skm_journal, program_bytes),
        SKM_U64("started_realtime_usec", struct skm_journal, started_realtime_usec),
        SKM_OBJECT("sysctls", sysctl_fields),
        SKM_OBJECT("shape", shape_fields),
};
static const struct skm_fields container_fields = SKM_FIELDS(container_table);

/* An element of "memory". */
static const struct skm_field memory_table[] = {
        SKM_TEXT("cgroup", struct skm_memory_baseline, cgroup),
        SKM_U64("cgroup_inode", struct skm_memory_baseline, cgroup_inode),
        SKM_WORD("file", struct skm_memory_baseline, file, skm_memory_file_names),
        SKM_BOOL("ancestor", struct skm_memory_baseline, ancestor),
        SKM_U64_OR_NULL("baseline", struct skm_memory_baseline, baseline, UINT64_MAX),
        SKM_U64_OR_NULL("written", struct skm_memory_baseline, written, UINT64_MAX),
        SKM_U64_OR_NULL("before", struct skm_memory_baseline, before, UINT64_MAX),
};
static const struct skm_fields memory_fields = SKM_FIELDS(memory_table);

static const struct skm_field kernel_limit_table[] = {
        SKM_U64_OR_NULL("baseline", struct skm_kernel_limit, baseline, UINT64_MAX),
        SKM_U64_OR_NULL("written", struct skm_kernel_limit, written, UINT64_MAX),
};
static const struct skm_fields kernel_limit_fields = SKM_FIELDS(kernel_limit_table);

/* A socket is [cookie, rcvbuf, buf_lock], and with a fourth number, sndbuf, where its send buffer was squeezed: a container may
 * have tens of thousands, and the file is written before each squeeze. */
enum { SOCKET_COOKIE, SOCKET_RCVBUF, SOCKET_BUF_LOCK, SOCKET_SNDBUF, SOCKET_PARTS };

static void write_sockets(struct skm_writer *writer, const struct skm_journal *journal)
{
	skm_writer_array(writer, "sockets");
	for (uint32_t i = 0; i < journal->socket_count; i++) {
		const struct skm_socket_baseline *one = &journal->sockets[i];

		skm_writer_array(writer, NULL);
		skm_writer_uint(writer, NULL, one->cookie);
		skm_writer_uint(writer, NULL, one->rcvbuf);
		skm_writer_uint(writer, NULL, one->buf_lock);
		if (one->sndbuf > 0)
			skm_writer_uint(writer, NULL, one->sndbuf);
		skm_writer_end(writer);
	}
	skm_writer_end(writer);
}

static void write_shape_links(struct skm_writer *writer, const struct skm_shape_places *shape)
{
	skm_writer_array(writer, "shape_links");
	for (uint32_t i = 0; i < shape->link_count; i++)
		skm_writer_uint(writer, NULL, shape->links[i]);
	skm_writer_end(writer);
}

char *skm_codec_journal_format(const struct skm_journal *journal)
{
	struct skm_writer *writer = skm_writer_new_object();

	skm_fields_write(writer, &container_fields, journal);
	skm_writer_array(writer, "memory");
	for (uint32_t i = 0; i < journal->memory_count; i++) {
		skm_writer_object(writer, NULL);
		skm_fields_write(writer, &memory_fields, &journal->memory[i]);
		skm_writer_end(writer);
	}
	skm_writer_end(writer);
	write_sockets(writer, journal);
	if (journal->kernel_limit.touched) {
		skm_writer_object(writer, "kernel_limit");
		skm_fields_write(writer, &kernel_limit_fields, &journal->kernel_limit);
		skm_writer_end(writer);
	}
	write_shape_links(writer, &journal->shape);
	return skm_writer_finish(writer, false);
}

static int read_socket(const struct skm_place *place, struct json_object *numbers, struct skm_socket_baseline *ret,
                       struct skm_err *err)
{
	static const uint64_t MAX[SOCKET_PARTS] = {UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
	uint64_t parts[SOCKET_PARTS] = {0};
	size_t count = json_object_is_type(numbers, json_type_array) ? json_object_array_length(numbers) : 0;

	if (count != SOCKET_SNDBUF && count != SOCKET_PARTS)
		return skm_place_fail(place, err, "wanted [cookie, rcvbuf, buf_lock] or [cookie, rcvbuf, buf_lock, sndbuf]");
	for (size_t i = 0; i < count; i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		int r = skm_value_uint(&inside, json_object_array_get_idx(numbers, i), MAX[i], &parts[i], err);

		if (r < 0)
			return r;
	}
	*ret = (struct skm_socket_baseline){
	        .cookie = parts[SOCKET_COOKIE],
	        .rcvbuf = (uint32_t)parts[SOCKET_RCVBUF],
	        .buf_lock = (uint32_t)parts[SOCKET_BUF_LOCK],
	        .sndbuf = (uint32_t)parts[SOCKET_SNDBUF],
	};
	return 0;
}

static int read_sockets(const struct skm_place *place, struct json_object *array, struct skm_journal *journal,
                        struct skm_err *err)
{
	size_t count;

	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted an array", skm_value_kind(array));
	count = json_object_array_length(array); /* bounded by the length of the text */
	journal->sockets = calloc(count + 1, sizeof(*journal->sockets));
	if (!journal->sockets)
		return skm_err_set(err, ENOMEM, "%s: out of memory", skm_place_document(place));
	for (size_t i = 0; i < count; i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		int r = read_socket(&inside, json_object_array_get_idx(array, i), &journal->sockets[i], err);

		if (r < 0)
			return r;
	}
	journal->socket_count = (uint32_t)count;
	return 0;
}

static int read_shape_links(const struct skm_place *place, struct json_object *array, struct skm_journal *journal,
                            struct skm_err *err)
{
	size_t count;

	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted an array", skm_value_kind(array));
	count = json_object_array_length(array);
	if (count > SKM_SHAPE_LINKS_MAX)
		return skm_place_fail(place, err, "%zu links, at most %d", count, SKM_SHAPE_LINKS_MAX);
	for (size_t i = 0; i < count; i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		uint64_t link;
		int r = skm_value_uint(&inside, json_object_array_get_idx(array, i), INT32_MAX, &link, err);

		if (r < 0)
			return r;
		journal->shape.links[i] = (uint32_t)link;
	}
	journal->shape.link_count = (uint32_t)count;
	return 0;
}

static int read_memory(const struct skm_place *place, struct json_object *array, struct skm_journal *journal, struct skm_err *err)
{
	void *memory = NULL;
	size_t count = 0;
	int r = skm_fields_read_array(place, array, &memory_fields, sizeof(*journal->memory), &memory, &count, err);

	if (r < 0)
		return r;
	journal->memory = memory;
	journal->memory_count = (uint32_t)count;
	return 0;
}

/* There on hosts with the memory controller on v1 alone. */
static int read_kernel_limit(const struct skm_place *root, struct json_object *document, struct skm_journal *journal,
                             struct skm_err *err)
{
	struct skm_place place = SKM_PLACE_KEY(root, "kernel_limit");
	struct json_object *object = NULL;
	int r;

	if (!json_object_object_get_ex(document, place.key, &object))
		return 0;
	r = skm_fields_read(&place, object, &kernel_limit_fields, &journal->kernel_limit, err);
	journal->kernel_limit.touched = r == 0;
	json_object_object_del(document, "kernel_limit");
	return r;
}

/* One of the arrays, taken out of the document so that the rest is what container_fields knows. */
static int read_array(const struct skm_place *root, struct json_object *document, const char *key,
                      int (*read)(const struct skm_place *, struct json_object *, struct skm_journal *, struct skm_err *),
                      struct skm_journal *journal, struct skm_err *err)
{
	struct skm_place place = SKM_PLACE_KEY(root, key);
	struct json_object *array = NULL;
	int r;

	if (!json_object_object_get_ex(document, key, &array))
		return skm_place_fail(root, err, "%s is missing", key);
	r = read(&place, array, journal, err);
	json_object_object_del(document, key);
	return r;
}

static int read_journal(const struct skm_place *root, struct json_object *document, struct skm_journal *journal,
                        struct skm_err *err)
{
	int r = skm_value_object(root, document, "it is written by sockmemd", err);

	if (r == 0)
		r = skm_fields_check_version(root, document, err);
	if (r == 0)
		r = read_array(root, document, "sockets", read_sockets, journal, err);
	if (r == 0)
		r = read_array(root, document, "memory", read_memory, journal, err);
	if (r == 0)
		r = read_kernel_limit(root, document, journal, err);
	if (r == 0)
		r = read_array(root, document, "shape_links", read_shape_links, journal, err);
	return r < 0 ? r : skm_fields_read(root, document, &container_fields, journal, err);
}

int skm_codec_journal_parse(const char *text, size_t length, struct skm_journal *ret, struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT("journal");
	cleanup_json struct json_object *document = NULL;
	struct skm_journal journal = {0};
	int r = skm_fields_read_text(text, length, root.key, &document, err);

	if (r == 0)
		r = read_journal(&root, document, &journal, err);
	if (r < 0)
		skm_codec_journal_free(&journal);
	else
		*ret = journal;
	return r;
}

void skm_codec_journal_free(struct skm_journal *journal)
{
	free(journal->sockets);
	free(journal->memory);
	journal->sockets = NULL;
	journal->memory = NULL;
	journal->socket_count = journal->memory_count = 0;
}
