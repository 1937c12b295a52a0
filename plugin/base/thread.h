/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the one of the loop. None takes a signal: those are the loop's. */
#ifndef SKM_BASE_THREAD_H
#define SKM_BASE_THREAD_H

/* Runs it in a thread of its own and waits for its end: for what changes the thread itself, as setns does. Returns 0, or -errno
 * where no thread could be made. */
int skm_thread_run(void *(*run)(void *data), void *data);

/* Starts it detached, among ordinary tasks whatever the caller's priority: for work that is long and not pressing. Returns as
 * above; the thread never ran then. */
int skm_thread_start(void *(*run)(void *data), void *data);

#endif
