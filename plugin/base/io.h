/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes on descriptors. Nothing here opens by a caller's text alone: a name is always below a directory
 * descriptor. */
#ifndef SKM_BASE_IO_H
#define SKM_BASE_IO_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* Reads a whole small file from its start into buffer and ends it with NUL; keeps fd's offset (pread).
 * Returns the length; -EFBIG when it does not fit in size - 1 bytes; -errno of pread (ENODEV: a cgroup that is gone). */
ssize_t skm_pread_text(int fd, char *buffer, size_t size);

/* The same for the file `name` below the directory descriptor dirfd (AT_FDCWD is allowed for fixed paths of the system). */
ssize_t skm_read_text_at(int dirfd, const char *name, char *buffer, size_t size);

/* Reads fd to its end (a pipe, stdin) into a new buffer that ends with NUL; the caller frees *ret.
 * ret_length: bytes read. Returns 0; -EFBIG past max bytes; -ENOMEM; -errno of read. */
int skm_read_to_end(int fd, size_t max, char **ret, size_t *ret_length);

/* Writes all of data in one write at offset 0, as sysctl and cgroup files need it.
 * Returns 0; -EIO on a short write; -errno of pwrite. */
int skm_pwrite_text(int fd, const char *text);

/* Replaces the file `name` below dirfd: a temporary file, fsync, rename, fsync of the directory. Mode 0600.
 * Returns 0 or -errno with err set. */
int skm_replace_file_at(int dirfd, const char *name, const void *data, size_t length, struct skm_err *err);

/* Makes a directory and its missing parents, mode 0700 for what it makes, and opens it (O_PATH not set, readable).
 * Returns a descriptor that the caller closes, or -errno with err set. */
int skm_open_dir_made(const char *path, struct skm_err *err);

#endif
