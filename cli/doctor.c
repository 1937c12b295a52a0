/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem doctor */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "codec/writer.h"
#include "containerd.h"
#include "format.h"
#include "hooks_file.h"
#include "paths.h"
#include "probe/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* How much of the hook's log is shown. */
#define LOG_LINES 5
#define LOG_TAIL 8192

struct findings {
	struct skm_host host;
	char refusal[512]; /* why nothing can be enforced; empty where soft or v1 can */
	enum skm_cli_asked asked;
	struct skm_pong pong;   /* where it answered */
	struct skm_err trouble; /* where it did not */
	struct skm_hooks_file hooks[SKM_HOOKS_FOLDERS_MAX];
	int hooks_count;
	struct skm_containerd containerd;
	char log[LOG_TAIL + 1];
	const char *lines[LOG_LINES]; /* the last ones, oldest first, in log */
	int line_count;
};

static void ask_enforcer(struct findings *ret)
{
	cleanup_free char *data = NULL;

	ret->asked = skm_cli_ask(SKM_VERB_PING, NULL, &data, &ret->trouble);
	if (ret->asked != SKM_ASKED_ANSWERED)
		return;
	if (data && skm_codec_pong_parse(data, strlen(data), &ret->pong, &ret->trouble) == 0)
		return;
	if (!data)
		skm_err_set(&ret->trouble, EPROTO, "its answer holds nothing");
	ret->asked = SKM_ASKED_REFUSED;
}

/* Splits what was read of the log's end into its last whole lines. */
static void split_lines(struct findings *ret)
{
	char *end = ret->log + strlen(ret->log);

	while (end > ret->log && ret->line_count < LOG_LINES) {
		char *begin;

		*--end = '\0'; /* the line's newline */
		begin = memrchr(ret->log, '\n', (size_t)(end - ret->log));
		begin = begin ? begin + 1 : ret->log;
		memmove(&ret->lines[1], &ret->lines[0], sizeof(ret->lines[0]) * (LOG_LINES - 1));
		ret->lines[0] = begin;
		ret->line_count++;
		end = begin;
	}
}

static void read_log(struct findings *ret)
{
	cleanup_fd int fd = open(skm_cli_paths()->hook_log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	off_t begin;
	ssize_t got;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	begin = st.st_size > LOG_TAIL ? st.st_size - LOG_TAIL : 0;
	got = pread(fd, ret->log, LOG_TAIL, begin);
	ret->log[got > 0 ? got : 0] = '\0';
	split_lines(ret);
}

static int look(struct findings *ret, struct skm_err *err)
{
	char refusal[sizeof(ret->refusal)];
	int r = skm_probe_host("", &ret->host, err);

	if (r < 0)
		return r;
	if (skm_probe_host_v1_refusal(&ret->host) && skm_probe_host_soft_refusal(&ret->host, 0, refusal, sizeof(refusal)))
		memcpy(ret->refusal, refusal, sizeof(ret->refusal));
	ask_enforcer(ret);
	ret->hooks_count = skm_cli_hooks_files(skm_cli_paths()->hooks_dir, ret->hooks);
	skm_cli_containerd_look(skm_cli_paths()->containerd, &ret->containerd);
	read_log(ret);
	return 0;
}

static const char *memory_place(enum skm_memory_place place)
{
	static const char *const words[] = {[SKM_MEMORY_NONE] = "none", [SKM_MEMORY_V1] = "v1", [SKM_MEMORY_V2] = "v2"};

	return words[place];
}

static const char *yes_no(bool value)
{
	return value ? "yes" : "no";
}

static void print_line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print_line(const char *name, const char *format, ...)
{
	char text[PATH_MAX + 512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("%-20s", name);
	skm_cli_put(text);
	putchar('\n');
}

static void print_host(const struct findings *found)
{
	const struct skm_host *host = &found->host;
	char slack[SKM_FORMAT_MAX];

	print_line("kernel", "%s, %u processors", host->kernel, host->processors);
	print_line("cgroup v2", "%s", host->cgroup2_mounted ? host->cgroup2_path : "not mounted");
	print_line("memory controller", "%s%s", host->memory == SKM_MEMORY_NONE ? "" : "on cgroup ", memory_place(host->memory));
	print_line("socket memory", "%s", host->nosocket ? "not counted: cgroup.memory=nosocket" : "counted");
	print_line("PSI", "%s", yes_no(host->psi));
	print_line("BTF, BPF mount", "%s, %s", yes_no(host->btf), yes_no(host->bpf_fs));
	if (host->memory == SKM_MEMORY_V2)
		print_line("charge slack", "%s: memory.stat may lag so far behind; no smaller limit is taken in soft mode",
		           skm_cli_bytes(host->charge_slack_bytes, slack));
	if (found->refusal[0])
		print_line("mode auto", "nothing: %s", found->refusal);
	else if (host->memory == SKM_MEMORY_V1)
		print_line("mode auto", "v1 (the kernel's own limit, memory.kmem.tcp.limit_in_bytes)");
	else
		print_line("mode auto", "soft (%s)", skm_probe_host_hard_refusal(host));
}

static void print_enforcer(const struct findings *found)
{
	char since[SKM_FORMAT_MAX];

	if (found->asked == SKM_ASKED_ANSWERED)
		print_line("enforcer", "running: version %s, pid %d, since %s, %u containers", found->pong.version,
		           (int)found->pong.pid, skm_cli_time(found->pong.started_realtime_usec, since), found->pong.containers);
	else if (found->asked == SKM_ASKED_ABSENT)
		print_line("enforcer", "not running; it starts with the first container that has a policy");
	else
		print_line("enforcer", "in trouble: %s", found->trouble.text);
}

static void print_node(const struct findings *found)
{
	const struct skm_pong *pong = &found->pong;
	const char *name = pong->node_trouble[0] ? "" : "node file";
	char since[SKM_FORMAT_MAX];

	if (found->asked != SKM_ASKED_ANSWERED)
		return;
	if (pong->node_trouble[0])
		print_line("node file", "NOT IN FORCE: %s", pong->node_trouble);
	if (pong->node_loaded_realtime_usec > 0)
		print_line(name, "%s as of %s is in force", pong->node_file,
		           skm_cli_time(pong->node_loaded_realtime_usec, since));
	else
		print_line(name, "the built-in rules are in force%s%s", pong->node_trouble[0] ? "" : ", without ",
		           pong->node_trouble[0] ? "" : pong->node_file);
}

static void print_hooks_file(const struct skm_hooks_file *file)
{
	if (!file->found)
		return;
	if (!file->hook[0])
		print_line("hooks file", "%s: names no hook (\"path\")", file->path);
	else if (!file->executable)
		print_line("hooks file", "%s: its hook %s is not there or not executable", file->path, file->hook);
	else
		print_line("hooks file", "%s: %s, for %s", file->path, file->hook,
		           file->for_all ? "every container" : "containers with an annotation");
	if (!file->read_by_default)
		print_line("", "podman reads it with --hooks-dir, or once it is linked into /usr/share/containers/oci/hooks.d");
}

static void print_hooks(const struct findings *found)
{
	bool any = false;

	for (int i = 0; i < found->hooks_count; i++) {
		print_hooks_file(&found->hooks[i]);
		any = any || found->hooks[i].found;
	}
	if (!any)
		print_line("hooks file",
		           "none: podman and CRI-O call no hook; runc and crun take it from a bundle's config.json");
	for (int i = 0; i < found->line_count; i++)
		print_line(i ? "" : "the hook's log", "%s", found->lines[i]);
}

static void print_containerd(const struct findings *found)
{
	for (size_t i = 0; i < found->containerd.count; i++) {
		const struct skm_containerd_runtime *runtime = &found->containerd.runtimes[i];

		if (!*runtime->missing)
			print_line(i ? "" : "containerd", "runtime %s: passes the annotations of pods", runtime->name);
		else
			print_line(i ? "" : "containerd",
			           "runtime %s: does not pass %s; add \"io.sockmem.*\" to its pod_annotations in %s",
			           runtime->name, runtime->missing, skm_cli_paths()->containerd);
	}
	if (found->containerd.found && found->containerd.count == 0)
		print_line("containerd", "%s lists no runtime: no annotation of a pod is passed", skm_cli_paths()->containerd);
}

static void write_containerd(struct skm_writer *writer, const struct skm_containerd *containerd)
{
	skm_writer_array(writer, "containerd");
	for (size_t i = 0; i < containerd->count; i++) {
		skm_writer_object(writer, NULL);
		skm_writer_text(writer, "runtime", containerd->runtimes[i].name);
		skm_writer_text(writer, "not_passed",
		                containerd->runtimes[i].missing[0] ? containerd->runtimes[i].missing : NULL);
		skm_writer_end(writer);
	}
	skm_writer_end(writer);
}

static void write_node(struct skm_writer *writer, const struct skm_pong *pong)
{
	skm_writer_object(writer, "node");
	skm_writer_text(writer, "file", pong->node_file);
	if (pong->node_loaded_realtime_usec > 0)
		skm_writer_uint(writer, "loaded_realtime_usec", pong->node_loaded_realtime_usec);
	else
		skm_writer_null(writer, "loaded_realtime_usec");
	skm_writer_text(writer, "trouble", pong->node_trouble[0] ? pong->node_trouble : NULL);
	skm_writer_end(writer);
}

static void write_enforcer(struct skm_writer *writer, const struct findings *found)
{
	skm_writer_object(writer, "enforcer");
	skm_writer_bool(writer, "running", found->asked == SKM_ASKED_ANSWERED);
	if (found->asked == SKM_ASKED_ANSWERED) {
		skm_writer_text(writer, "version", found->pong.version);
		skm_writer_int(writer, "pid", found->pong.pid);
		skm_writer_uint(writer, "started_realtime_usec", found->pong.started_realtime_usec);
		skm_writer_uint(writer, "containers", found->pong.containers);
		write_node(writer, &found->pong);
	}
	skm_writer_text(writer, "trouble", found->asked == SKM_ASKED_REFUSED ? found->trouble.text : NULL);
	skm_writer_end(writer);
}

static void write_hooks(struct skm_writer *writer, const struct findings *found)
{
	skm_writer_array(writer, "hooks_files");
	for (int i = 0; i < found->hooks_count; i++) {
		const struct skm_hooks_file *file = &found->hooks[i];

		skm_writer_object(writer, NULL);
		skm_writer_text(writer, "path", file->path);
		skm_writer_bool(writer, "found", file->found);
		skm_writer_text(writer, "hook", file->hook[0] ? file->hook : NULL);
		skm_writer_bool(writer, "executable", file->executable);
		skm_writer_bool(writer, "every_container", file->for_all);
		skm_writer_bool(writer, "read_by_default", file->read_by_default);
		skm_writer_end(writer);
	}
	skm_writer_end(writer);
	skm_writer_array(writer, "hook_log");
	for (int i = 0; i < found->line_count; i++)
		skm_writer_text(writer, NULL, found->lines[i]);
	skm_writer_end(writer);
}

static char *format_json(const struct findings *found)
{
	const struct skm_host *host = &found->host;
	struct skm_writer *writer = skm_writer_new_object();
	bool can = !found->refusal[0], on_v1 = host->memory == SKM_MEMORY_V1;

	skm_writer_text(writer, "kernel", host->kernel);
	skm_writer_uint(writer, "processors", host->processors);
	skm_writer_uint(writer, "page_bytes", host->page_bytes);
	skm_writer_text(writer, "cgroup2", host->cgroup2_mounted ? host->cgroup2_path : NULL);
	skm_writer_text(writer, "memory_controller", memory_place(host->memory));
	skm_writer_bool(writer, "nosocket", host->nosocket);
	skm_writer_bool(writer, "psi", host->psi);
	skm_writer_bool(writer, "btf", host->btf);
	skm_writer_bool(writer, "bpf_mount", host->bpf_fs);
	skm_writer_uint(writer, "charge_slack_bytes", host->charge_slack_bytes);
	skm_writer_object(writer, "auto");
	skm_writer_text(writer, "backend", !can ? NULL : on_v1 ? "v1" : "soft");
	skm_writer_text(writer, "why_nothing", can ? NULL : found->refusal);
	skm_writer_text(writer, "why_not_hard", on_v1 ? NULL : skm_probe_host_hard_refusal(host));
	skm_writer_end(writer);
	write_enforcer(writer, found);
	write_hooks(writer, found);
	write_containerd(writer, &found->containerd);
	return skm_writer_finish(writer, true);
}

enum skm_exit skm_cli_doctor(const struct skm_cli *cli)
{
	cleanup_free struct findings *found = calloc(1, sizeof(*found));
	struct skm_err err = SKM_ERR_INIT;
	enum skm_exit status = SKM_EXIT_OK;

	if (!found)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	if (look(found, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	if (cli->json) {
		status = skm_cli_print_json(format_json(found));
	} else {
		print_host(found);
		print_enforcer(found);
		print_node(found);
		print_hooks(found);
		print_containerd(found);
	}
	return found->refusal[0] ? SKM_EXIT_FAILURE : status;
}
