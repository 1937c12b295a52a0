/* SPDX-License-Identifier: Apache-2.0 */
/* replay PATH... : gives the target every file, and every file of every folder, so that what a fuzzer once found stays found with
 * any compiler and any sanitizer. Fails where a path has no file. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define TEXT_MAX (8 * 1024 * 1024)

static int complain(const char *path, int r)
{
	fprintf(stderr, "replay: %s: %s\n", path, strerror(-r));
	return r;
}

/* The reader puts a NUL behind the text, which the target must not see. */
static int replay_file(const char *path)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_free char *text = NULL;
	cleanup_free uint8_t *block = NULL;
	size_t length = 0;
	int r = fd < 0 ? -errno : skm_read_to_end(fd, TEXT_MAX, &text, &length);

	if (r < 0)
		return complain(path, r);
	block = malloc(length ? length : 1);
	if (!block)
		return complain(path, -ENOMEM);
	memcpy(block, text, length);
	LLVMFuzzerTestOneInput(block, length);
	return 1;
}

/* Returns how many files were replayed, or a negative errno. */
static int replay_folder(const char *path)
{
	cleanup_dir DIR *folder = opendir(path);
	int count = 0;

	if (!folder)
		return complain(path, -errno);
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		cleanup_free char *file = NULL;
		int r;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&file, "%s/%s", path, entry->d_name) < 0)
			return complain(path, -ENOMEM);
		r = replay_file(file);
		if (r < 0)
			return r;
		count++;
	}
	return count > 0 ? count : complain(path, -ENOENT);
}

int main(int argc, char **argv)
{
	int files = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		int r = stat(argv[i], &st) < 0 ? complain(argv[i], -errno)
		        : S_ISDIR(st.st_mode)  ? replay_folder(argv[i])
		                               : replay_file(argv[i]);

		if (r < 0)
			return 1;
		files += r;
	}
	printf("%d files\n", files);
	return files > 0 ? 0 : 1;
}
