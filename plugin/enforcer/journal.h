/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines on disk: saved before the first write, dropped when everything is back. */
#ifndef SKM_ENFORCER_JOURNAL_H
#define SKM_ENFORCER_JOURNAL_H

#include "enforcer/container.h"

/* Writes the container's journal (fsynced, replaced as a whole). Returns 0 or -errno with err set. */
int skm_journal_save(struct skm_container *container, struct skm_err *err);

/* Removes it. */
void skm_journal_drop(struct skm_container *container);

/* A container whose connections come and go above the limit would fill the journal: beyond this many the oldest are forgotten.
 * Some 0.6 MiB of journal, well below what recovery reads. */
#define SKM_JOURNAL_SOCKETS_MAX 16384

/* Remembers the baselines of sockets, by cookie and side, that are not known yet or have been renewed. Returns how many there
 * were (none: nothing to save) or -ENOMEM. Does not save. */
int skm_journal_add_sockets(struct skm_container *container, const struct skm_socket_baseline *sockets, uint32_t count);

/* Forgets the sockets (they have their values back) and saves. */
void skm_journal_forget_sockets(struct skm_container *container);

/* At start: what an earlier enforcer left. A container that lives is adopted (registered again with its baselines); of one that
 * ended, baselines are put back where its namespace can still be reached. Files of another boot are removed. */
void skm_journal_recover(struct skm_registry *registry);

#endif
