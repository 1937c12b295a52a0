/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem hooks add BUNDLE */
#include "cli.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "codec/bundle-edit.h"
#include "codec/bundle.h"
#include "codec/writer.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "config.json"
#define NEW_NAME ".config.json.sockmem-new"

/* A bundle's config.json, as it was found. */
struct file {
	int folder; /* of the bundle */
	struct stat st;
	char *text;
	size_t length;
};

static int read_file(const char *bundle, struct file *ret, struct skm_err *err)
{
	cleanup_fd int fd = -1;
	int r;

	ret->folder = open(bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->folder < 0 && errno == ENOTDIR)
		return skm_err_set(err, ENOTDIR, "%s is no folder; name the bundle, the folder of the " FILE_NAME, bundle);
	if (ret->folder < 0)
		return skm_err_set_errno(err, errno, "open %s", bundle);
	fd = openat(ret->folder, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return skm_err_set(err, ELOOP, "%s/" FILE_NAME " is a symbolic link; name the folder of the file itself", bundle);
	if (fd < 0 || fstat(fd, &ret->st) < 0)
		return skm_err_set_errno(err, errno, "open %s/" FILE_NAME, bundle);
	if (!S_ISREG(ret->st.st_mode))
		return skm_err_set(err, EINVAL, "%s/" FILE_NAME " is no regular file", bundle);
	r = skm_read_to_end(fd, SKM_BUNDLE_TEXT_MAX, &ret->text, &ret->length);
	if (r == -EFBIG)
		return skm_err_set(err, E2BIG, "%s/" FILE_NAME " is over %d bytes", bundle, SKM_BUNDLE_TEXT_MAX);
	return r < 0 ? skm_err_set_errno(err, -r, "read %s/" FILE_NAME, bundle) : 0;
}

static int write_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t done = write(fd, data, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		data += done;
		length -= (size_t)done;
	}
	return 0;
}

/* Owner and mode as they were. Who may not give a file away keeps it, where it was theirs already. */
static int dress(int fd, const struct stat *st)
{
	struct stat own;

	if (fstat(fd, &own) < 0)
		return -errno;
	if ((own.st_uid != st->st_uid || own.st_gid != st->st_gid) && fchown(fd, st->st_uid, st->st_gid) < 0)
		return -errno;
	return fchmod(fd, st->st_mode & 07777) < 0 ? -errno : 0;
}

static int make_new(const struct file *file, const struct skm_bundle_edited *edited, struct skm_err *err)
{
	cleanup_fd int fd = openat(file->folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return skm_err_set_errno(err, errno, "make " NEW_NAME);
	r = write_all(fd, edited->text, edited->length);
	if (r == 0)
		r = dress(fd, &file->st);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r < 0 ? skm_err_set_errno(err, -r, "write " NEW_NAME) : 0;
}

/* In one step: whoever reads it meanwhile has the one or the other. */
static int replace_file(const struct file *file, const struct skm_bundle_edited *edited, struct skm_err *err)
{
	int r;

	SKM_IGNORE(unlinkat(file->folder, NEW_NAME, 0) < 0); /* of a run that was killed */
	r = make_new(file, edited, err);
	if (r == 0 && renameat(file->folder, NEW_NAME, file->folder, FILE_NAME) < 0)
		r = skm_err_set_errno(err, errno, "replace " FILE_NAME);
	if (r < 0)
		SKM_IGNORE(unlinkat(file->folder, NEW_NAME, 0) < 0); /* it may not be there */
	else
		SKM_IGNORE(fsync(file->folder) < 0); /* the file is right, whichever of the two a power cut leaves */
	return r;
}

/* What became of kernelTCP; NULL where there was none. */
static const char *kernel_tcp_outcome(const struct skm_bundle_edited *edited, bool convert)
{
	if (!edited->has_kernel_tcp)
		return NULL;
	if (!convert)
		return "kept";
	return edited->annotated ? "moved" : "removed";
}

static void print_hook(const char *stage, bool added)
{
	printf("hooks.%s: %s\n", stage, added ? "added" : "there already");
}

/* What the annotations want, beside a kernelTCP that they win over. */
static void print_difference(const struct skm_bundle_edited *edited, const char *size)
{
	const struct skm_policy *policy = &edited->policy;
	char limit[SKM_SIZE_TEXT_MAX];
	bool same = policy->tcpmem_limit.kind == SKM_SIZE_BYTES && policy->tcpmem_limit.value == edited->kernel_tcp_bytes;

	printf("kernelTCP: %s, removed; ", size);
	skm_cli_put(skm_name_of(&skm_policy_source_names, policy->source));
	if (policy->source == SKM_SOURCE_ANNOTATION_PROFILE)
		puts(" is there and counts");
	else
		printf(" says %s%s\n",
		       same ? "the same" : "otherwise and counts: ", same ? "" : skm_size_format(&policy->tcpmem_limit, limit));
}

static void print_kernel_tcp(const struct skm_bundle_edited *edited, bool convert)
{
	struct skm_size bytes = {.kind = SKM_SIZE_BYTES, .value = edited->kernel_tcp_bytes};
	char size[SKM_SIZE_TEXT_MAX];

	if (!edited->has_kernel_tcp)
		return;
	if (edited->kernel_tcp_bytes == 0)
		bytes.kind = SKM_SIZE_MAX;
	skm_size_format(&bytes, size);
	if (!convert)
		printf("kernelTCP: %s, left where it is; crun refuses it on cgroup v2: --convert moves it\n", size);
	else if (edited->annotated)
		printf("kernelTCP: %s, moved to the annotation " SKM_ANNOTATION_TCPMEM "\n", size);
	else if (edited->kernel_tcp_bytes == 0)
		puts("kernelTCP: no limit, removed");
	else
		print_difference(edited, size);
}

static enum skm_exit print_json(const struct skm_cli *cli, const struct skm_bundle_edited *edited, bool changed)
{
	struct skm_writer *writer = skm_writer_new_object();
	const char *outcome = kernel_tcp_outcome(edited, cli->convert);

	skm_writer_text(writer, "bundle", cli->second);
	skm_writer_bool(writer, "changed", changed);
	skm_writer_bool(writer, "dry_run", cli->dry_run);
	skm_writer_object(writer, "hooks");
	skm_writer_text(writer, "createRuntime", edited->create_added ? "added" : "there");
	skm_writer_text(writer, "poststop", edited->poststop_added ? "added" : "there");
	skm_writer_end(writer);
	if (outcome) {
		skm_writer_object(writer, "kernel_tcp");
		if (edited->kernel_tcp_bytes)
			skm_writer_uint(writer, "bytes", edited->kernel_tcp_bytes);
		else
			skm_writer_null(writer, "bytes");
		skm_writer_text(writer, "outcome", outcome);
		skm_writer_end(writer);
	} else {
		skm_writer_null(writer, "kernel_tcp");
	}
	return skm_cli_print_json(skm_writer_finish(writer, true));
}

static enum skm_exit print(const struct skm_cli *cli, const struct skm_bundle_edited *edited, bool changed)
{
	if (cli->json)
		return print_json(cli, edited, changed);
	if (cli->dry_run)
		return fwrite(edited->text, 1, edited->length, stdout) == edited->length ? SKM_EXIT_OK : SKM_EXIT_FAILURE;
	print_hook("createRuntime", edited->create_added);
	print_hook("poststop", edited->poststop_added);
	print_kernel_tcp(edited, cli->convert);
	return SKM_EXIT_OK;
}

static enum skm_exit add(const struct skm_cli *cli, struct file *file, struct skm_bundle_edited *edited)
{
	struct skm_err err = SKM_ERR_INIT;
	int r = read_file(cli->second, file, &err);
	bool changed;

	if (r == 0 &&
	    (r = skm_codec_bundle_edit(file->text, file->length, skm_cli_paths()->hook, cli->convert, edited, &err)) < 0)
		skm_err_wrap(&err, "%s", cli->second);
	if (r < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	changed = edited->length != file->length || memcmp(edited->text, file->text, file->length) != 0;
	if (changed && !cli->dry_run && replace_file(file, edited, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s: %s", cli->second, err.text);
	return print(cli, edited, changed);
}

enum skm_exit skm_cli_hooks(const struct skm_cli *cli)
{
	struct skm_bundle_edited edited = SKM_BUNDLE_EDITED_INIT;
	struct file file = {.folder = -1};
	enum skm_exit status;

	if (strcmp(cli->operand, "add") != 0)
		return skm_cli_fail(SKM_EXIT_USAGE, "hooks: %s is unknown: see sockmem hooks --help", cli->operand);
	status = add(cli, &file, &edited);
	skm_codec_bundle_edited_free(&edited);
	free(file.text);
	skm_close_fd(&file.folder);
	return status;
}
