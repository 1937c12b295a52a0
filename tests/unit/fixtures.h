/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of real hosts, below the folder that the environment names in SKM_FIXTURES. */
#ifndef SKM_TEST_FIXTURES_H
#define SKM_TEST_FIXTURES_H

#include "base/cleanup.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>

/* The whole file, which the caller frees; fails the test where it is not there. */
static inline char *skm_fixture(const char *name, size_t *ret_length)
{
	const char *folder = getenv("SKM_FIXTURES");
	char path[4096], *text = NULL;
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "tests/unit/fixtures", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || skm_read_to_end(fd, 1 << 20, &text, ret_length) < 0)
		fail_msg("cannot read %s", path);
	return text;
}

#endif
