/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "codec/node.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* An enforcer that a hook starts lives as long as its containers: the next one may find a file that was broken since. */
#define COPY "node.json"

/* O_NONBLOCK: a FIFO in its place holds nobody up. Returns 0; -ENOENT; -errno with err set. */
static int read_text(int dirfd, const char *path, char **ret, size_t *ret_length, struct skm_err *err)
{
	cleanup_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0)
		return skm_err_set_errno(err, errno, "open %s", path);
	if (fstat(fd, &st) < 0)
		return skm_err_set_errno(err, errno, "stat %s", path);
	if (!S_ISREG(st.st_mode))
		return skm_err_set(err, EINVAL, "%s is not a regular file", path);
	r = skm_read_to_end(fd, SKM_NODE_TEXT_MAX, ret, ret_length);
	if (r == -EFBIG)
		return skm_err_set(err, E2BIG, "%s is over %d bytes", path, SKM_NODE_TEXT_MAX);
	return r < 0 ? skm_err_set_errno(err, -r, "read %s", path) : 0;
}

static void use(struct skm_daemon_node *node, const struct skm_node *rules, uint64_t loaded_usec)
{
	skm_codec_node_free(&node->node);
	node->node = *rules;
	node->loaded_usec = loaded_usec;
}

/* Returns 0 where a file is in force now, -ENOENT where there is none and its rules went, or -errno: nothing has changed. */
static int load(struct skm_daemon_node *node, int run_dir, struct skm_err *err)
{
	cleanup_free char *text = NULL;
	struct skm_err copy_err = SKM_ERR_INIT;
	struct skm_node rules = SKM_NODE_INIT;
	size_t length = 0;
	int r = read_text(AT_FDCWD, node->path, &text, &length, err);

	if (r == -ENOENT) {
		use(node, &rules, 0);
		SKM_IGNORE(unlinkat(run_dir, COPY, 0) < 0); /* there may be none */
		return r;
	}
	if (r == 0)
		r = skm_codec_node_parse(text, length, node->path, &rules, err);
	if (r < 0)
		return r;
	use(node, &rules, skm_realtime_usec());
	if (skm_replace_file_at(run_dir, COPY, text, length, &copy_err) < 0)
		skm_log(LOG_NOTICE, "no copy of %s is kept: %s", node->path, copy_err.text);
	return 0;
}

static void say(const struct skm_daemon_node *node, int r)
{
	if (r == -ENOENT)
		skm_log(LOG_INFO, "no node file (%s): the built-in rules are in force", node->path);
	else
		skm_log(LOG_INFO, "%s is in force: %zu profiles, %s defaults; containers that are held keep their policies",
		        node->path, node->node.profile_count, node->node.has_defaults ? "with" : "no");
}

/* What stood in the copy. Returns whether it is in force now. */
static bool use_copy(struct skm_daemon_node *node, int run_dir)
{
	cleanup_free char *text = NULL;
	struct skm_node rules = SKM_NODE_INIT;
	struct stat st;
	size_t length;

	if (read_text(run_dir, COPY, &text, &length, NULL) < 0 || fstatat(run_dir, COPY, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    skm_codec_node_parse(text, length, COPY, &rules, NULL) < 0)
		return false;
	use(node, &rules, (uint64_t)st.st_mtime * SKM_USEC_PER_SEC);
	return true;
}

void skm_daemon_node_start(struct skm_daemon_node *node, int run_dir)
{
	int r;

	node->node = SKM_NODE_INIT;
	r = load(node, run_dir, &node->broken);
	if (r == 0 || r == -ENOENT) {
		node->broken = SKM_ERR_INIT;
		say(node, r);
		return;
	}
	skm_log(LOG_ERR, "%s: %s is in force until it is mended and this enforcer gets SIGHUP", node->broken.text,
	        use_copy(node, run_dir) ? "the file as it last was valid"
	                                : "what a node without a node file does (no ceilings, profiles or defaults)");
}

void skm_daemon_node_reload(struct skm_daemon_node *node, int run_dir)
{
	struct skm_err err = SKM_ERR_INIT;
	int r = load(node, run_dir, &err);

	if (r == 0 || r == -ENOENT) {
		node->broken = SKM_ERR_INIT;
		say(node, r);
		return;
	}
	node->broken = err;
	skm_log(LOG_ERR, "%s: all stays as it was", err.text);
}
