/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem adopt --cgroup PATH POLICY */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "document.h"
#include "ipc/ipc.h"
#include "probe/cgroup_tree.h"
#include "probe/process.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define PATH_RIGHT "write it as /proc/PID/cgroup shows it behind 0::, or whole, below the mount of cgroup v2"

static bool has_parent_component(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	return false;
}

/* What is behind the mount point in path: as it was given, or as /proc/PID/cgroup has it. Empty: the root. */
static const char *below_mount(const char *path, const char *mount)
{
	size_t length = strlen(mount);

	if (strncmp(path, mount, length) == 0 && (path[length] == '/' || path[length] == '\0'))
		path += length;
	return path + strspn(path, "/");
}

/* Nothing in the path may lead elsewhere: no "..", no symbolic link, no other filesystem that is mounted there. */
static int open_below(const char *mount, const char *path, struct skm_err *err)
{
	cleanup_fd int root = open(mount, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct open_how how = {
	        .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	struct statfs st;

	if (root < 0)
		return skm_err_set_errno(err, errno, "open %s", mount);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0)
		return skm_err_set_errno(err, errno, "cgroup %s/%s", mount, path);
	if (fstatfs(fd, &st) < 0 || st.f_type != CGROUP2_SUPER_MAGIC)
		return skm_err_set(err, EINVAL, "%s/%s is no cgroup v2", mount, path);
	return skm_steal_fd(&fd);
}

static int open_cgroup(const char *path, struct skm_err *err)
{
	char mount[PATH_MAX];
	int r;

	if (*path != '/')
		return skm_err_set(err, EINVAL, "--cgroup %s: no whole path; " PATH_RIGHT, path);
	if (has_parent_component(path))
		return skm_err_set(err, EINVAL, "--cgroup %s: a path with \"..\"; " PATH_RIGHT, path);
	r = skm_probe_cgroup2_mount(NULL, mount, sizeof(mount), err);
	if (r < 0)
		return r;
	path = below_mount(path, mount);
	if (!*path)
		return skm_err_set(err, EINVAL, "the root cgroup is the whole host's and no container; name one below it");
	return open_below(mount, path, err);
}

/* Who is in the cgroup and below it. */
struct crowd {
	struct skm_process_fds first; /* what stands for the first process that lives */
	pid_t first_pid;              /* 0: none yet */
	uint64_t netns_inode;         /* its network namespace */
	unsigned int count, elsewhere;
	int error; /* why the first could not be opened */
};

static bool netns_of(pid_t pid, uint64_t *ret)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (stat(path, &st) < 0)
		return false;
	*ret = st.st_ino;
	return true;
}

static int see_process(pid_t pid, void *data)
{
	struct crowd *crowd = data;
	uint64_t inode;

	if (!netns_of(pid, &inode))
		return 0; /* it has just ended, or is a zombie */
	if (crowd->first_pid == 0) {
		int r = skm_probe_process_open_netns(pid, &crowd->first, NULL);

		if (r < 0) {
			crowd->error = r;
			return 0;
		}
		crowd->first_pid = pid;
		crowd->netns_inode = inode;
	}
	crowd->count++;
	crowd->elsewhere += inode != crowd->netns_inode;
	return 0;
}

static int see_cgroup(int cgroup_fd, void *data)
{
	SKM_IGNORE(skm_probe_cgroup_processes(cgroup_fd, see_process, data) < 0); /* a threaded one shows none */
	return 0;
}

static int fill_request(const char *path, struct skm_request *request, struct crowd *crowd, struct skm_err *err)
{
	int cgroup = open_cgroup(path, err);

	if (cgroup < 0)
		return cgroup;
	request->fds[SKM_FD_CGROUP] = cgroup;
	SKM_IGNORE(skm_probe_cgroup_walk(cgroup, see_cgroup, crowd) < 0);
	if (crowd->first_pid == 0 && crowd->error)
		return skm_err_set_errno(err, -crowd->error, "open a process of cgroup %s", path);
	if (crowd->first_pid == 0)
		return skm_err_set(err, ESRCH, "cgroup %s has no process; start what is to be adopted first", path);
	request->pid = crowd->first_pid;
	request->fds[SKM_FD_PID] = crowd->first.pidfd;
	request->fds[SKM_FD_NETNS] = crowd->first.netns;
	return 0;
}

/* The cgroup's name, unless another was given. */
static int name_it(const struct skm_cli *cli, struct skm_request *request, struct skm_err *err)
{
	char path[PATH_MAX];
	const char *id = cli->id;

	if (!id) {
		int r = skm_probe_fd_path(request->fds[SKM_FD_CGROUP], path, sizeof(path));

		if (r < 0)
			return skm_err_set_errno(err, -r, "find the name of cgroup %s", cli->cgroup);
		id = strrchr(path, '/') + 1;
	}
	if (!*id || strlen(id) > SKM_ID_MAX)
		return skm_err_set(err, EINVAL, "an id has 1 to %d bytes: choose one with --id", SKM_ID_MAX);
	strcpy(request->id, id);
	return 0;
}

static void warn_of_others(const struct crowd *crowd)
{
	if (crowd->elsewhere > 0)
		skm_cli_fail(
		        SKM_EXIT_OK,
		        "note: %u of its %u processes are in another network namespace than process %d: their sockets count, "
		        "but the sysctls of their namespace stay as they are",
		        crowd->elsewhere, crowd->count, (int)crowd->first_pid);
}

static enum skm_exit show(const struct skm_cli *cli, const char *id)
{
	cleanup_free struct skm_report *report = calloc(1, sizeof(*report));
	cleanup_free char *data = NULL;
	struct skm_err err = SKM_ERR_INIT;
	enum skm_cli_asked asked = skm_cli_ask(SKM_VERB_INSPECT, id, &data, &err);

	if (asked != SKM_ASKED_ANSWERED)
		return skm_cli_refused(asked, &err);
	if (!report || !data || skm_codec_report_parse(data, strlen(data), report, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "it is adopted, but the enforcer's report: %s",
		                    report && data ? err.text : "nothing came");
	if (cli->json)
		return skm_cli_print_json(skm_codec_report_format(report, true));
	skm_cli_print_in_force(report);
	return SKM_EXIT_OK;
}

static enum skm_exit adopt(const struct skm_cli *cli, struct skm_request *request)
{
	cleanup_free char *data = NULL;
	struct skm_err err = SKM_ERR_INIT;
	struct crowd crowd = {0};
	enum skm_cli_asked asked;
	bool is_size;
	int r = skm_cli_policy_read(cli->operand, &request->policy, &is_size, &err);

	if (r < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "invalid: %s", err.text);
	r = fill_request(cli->cgroup, request, &crowd, &err);
	if (r == 0)
		r = name_it(cli, request, &err);
	if (r < 0)
		return skm_cli_fail(r == -ENOENT || r == -ESRCH ? SKM_EXIT_NO_CONTAINER : SKM_EXIT_FAILURE, "%s", err.text);
	request->verb = SKM_VERB_REGISTER;
	request->policy.source = SKM_SOURCE_ADMINISTRATOR;
	asked = skm_cli_ask_for(request, NULL, &data, &err);
	if (asked == SKM_ASKED_ABSENT)
		return skm_cli_fail(SKM_EXIT_NO_ENFORCER, "the enforcer is not running: start it with `systemctl start "
		                                          "sockmemd.socket`, or sockmemd");
	if (asked != SKM_ASKED_ANSWERED)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	warn_of_others(&crowd);
	return show(cli, request->id);
}

enum skm_exit skm_cli_adopt(const struct skm_cli *cli)
{
	struct skm_request request = SKM_REQUEST_INIT;
	enum skm_exit status;

	if (!cli->cgroup)
		return skm_cli_fail(SKM_EXIT_USAGE, "adopt needs --cgroup PATH: see sockmem adopt --help");
	status = adopt(cli, &request);
	skm_ipc_request_close(&request);
	return status;
}
