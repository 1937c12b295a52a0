/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/journal.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "codec/journal.h"
#include "enforcer/registry.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Only who writes the namespace's sysctls has something to put back there. */
static void take_group(struct skm_container *container)
{
	struct skm_journal *journal = &container->journal;

	memset(journal->baseline, 0, sizeof(journal->baseline));
	memset(journal->written, 0, sizeof(journal->written));
	if (!container->is_writer)
		return;
	memcpy(journal->baseline, container->group->baseline, sizeof(journal->baseline));
	memcpy(journal->written, container->group->written, sizeof(journal->written));
}

int skm_journal_save(struct skm_container *container, struct skm_err *err)
{
	cleanup_free char *text = NULL;
	int r;

	take_group(container);
	text = skm_codec_journal_format(&container->journal);
	if (!text)
		return skm_err_set(err, ENOMEM, "journal: out of memory");
	r = skm_replace_file_at(skm_registry_journal_dir(container->registry), container->journal_name, text, strlen(text), err);
	return r < 0 ? skm_err_wrap(err, "journal") : 0;
}

void skm_journal_drop(struct skm_container *container)
{
	/* one that was never saved is not there */
	SKM_IGNORE(unlinkat(skm_registry_journal_dir(container->registry), container->journal_name, 0) < 0);
}

static struct skm_socket_baseline *find_socket(const struct skm_journal *journal, uint64_t cookie)
{
	for (uint32_t i = 0; i < journal->socket_count; i++)
		if (journal->sockets[i].cookie == cookie)
			return &journal->sockets[i];
	return NULL;
}

/* Each side's first baseline stays, unless the program has set another since. Returns whether the known one has changed. */
static bool merge_socket(struct skm_socket_baseline *known, const struct skm_socket_baseline *newer)
{
	uint32_t sides = 0;

	if (newer->rcvbuf > 0 && (known->rcvbuf == 0 || newer->renewed & SKM_SIDE_RECEIVE)) {
		known->rcvbuf = newer->rcvbuf;
		sides |= SKM_SIDE_RECEIVE;
	}
	if (newer->sndbuf > 0 && (known->sndbuf == 0 || newer->renewed & SKM_SIDE_SEND)) {
		known->sndbuf = newer->sndbuf;
		sides |= SKM_SIDE_SEND;
	}
	known->buf_lock = (known->buf_lock & ~sides) | (newer->buf_lock & sides);
	return sides != 0;
}

/* The first are the longest squeezed: of connections that come and go, those that are most likely gone. */
static void drop_oldest(struct skm_journal *journal, uint32_t count)
{
	journal->socket_count -= count;
	memmove(journal->sockets, journal->sockets + count, journal->socket_count * sizeof(*journal->sockets));
}

int skm_journal_add_sockets(struct skm_container *container, const struct skm_socket_baseline *sockets, uint32_t count)
{
	struct skm_journal *journal = &container->journal;
	struct skm_socket_baseline *larger = realloc(journal->sockets, (journal->socket_count + count) * sizeof(*larger));
	int added = 0;

	if (!larger)
		return -ENOMEM;
	journal->sockets = larger;
	for (uint32_t i = 0; i < count; i++) {
		struct skm_socket_baseline *known = find_socket(journal, sockets[i].cookie);

		if (!known)
			journal->sockets[journal->socket_count++] = sockets[i];
		added += !known || merge_socket(known, &sockets[i]);
	}
	if (journal->socket_count > SKM_JOURNAL_SOCKETS_MAX)
		drop_oldest(journal, journal->socket_count - SKM_JOURNAL_SOCKETS_MAX);
	return added;
}

void skm_journal_forget_sockets(struct skm_container *container)
{
	struct skm_err err = SKM_ERR_INIT;

	container->journal.socket_count = 0;
	if (skm_journal_save(container, &err) < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
}
