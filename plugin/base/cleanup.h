/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that give a resource back when its variable goes out of scope. Initialise the variable where it is declared. */
#ifndef SKM_BASE_CLEANUP_H
#define SKM_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void skm_cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void skm_cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void skm_cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void skm_cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define cleanup_free __attribute__((cleanup(skm_cleanup_free)))
#define cleanup_fd __attribute__((cleanup(skm_cleanup_fd)))
#define cleanup_file __attribute__((cleanup(skm_cleanup_file)))
#define cleanup_dir __attribute__((cleanup(skm_cleanup_dir)))

/* Hands a descriptor on: returns it and leaves -1 behind, so that the cleanup has nothing to close. */
static inline int skm_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Closes a descriptor that lives in a struct and marks it closed. */
static inline void skm_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#endif
