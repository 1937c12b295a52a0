/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/message.h"
#include "ipc/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A pair of connected sockets as client and daemon have them, and how many descriptors are open, to see a leak. */
struct pair {
	int client, server;
	int open_before;
};

static int count_open(void)
{
	cleanup_dir DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	return count;
}

static int make_pair(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	int ends[2];

	if (!pair || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	*pair = (struct pair){ends[0], ends[1], count_open()};
	*state = pair;
	return 0;
}

static int drop_pair(void **state)
{
	struct pair *pair = *state;

	skm_close_fd(&pair->client);
	skm_close_fd(&pair->server);
	free(pair);
	return 0;
}

static void send_with_fds(int fd, const char *text, size_t length, int fd_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec part = {(char *)text, length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[8];

	for (int i = 0; i < 8; i++)
		fds[i] = STDERR_FILENO;
	if (fd_count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, (size_t)fd_count * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &message, 0), length);
}

static char *format(enum skm_verb verb)
{
	struct skm_request request = SKM_REQUEST_INIT;
	char *text;

	request.verb = verb;
	strcpy(request.id, "web-1");
	request.pid = 4711;
	request.policy.tcpmem_limit = (struct skm_size){SKM_SIZE_BYTES, 64 * SKM_MIB};
	request.policy.source = SKM_SOURCE_ANNOTATION_TCPMEM;
	text = skm_codec_request_format(&request);
	assert_non_null(text);
	return text;
}

/* Sends text with so many descriptors and asserts that it is refused with code, a text that holds `said`, and no descriptor
 * kept. */
static void assert_refused(struct pair *pair, const char *text, size_t length, int fd_count, int code, const char *said)
{
	struct skm_request request;
	struct skm_err err = SKM_ERR_INIT;

	send_with_fds(pair->client, text, length, fd_count);
	assert_int_equal(skm_ipc_receive(pair->server, &request, &err), -code);
	assert_contains(err.text, said);
	skm_ipc_request_close(&request);
	assert_int_equal(count_open(), pair->open_before);
}

static void test_register_arrives_whole(void **state)
{
	struct pair *pair = *state;
	cleanup_free char *text = format(SKM_VERB_REGISTER);
	struct skm_request request;
	struct skm_err err = SKM_ERR_INIT;

	send_with_fds(pair->client, text, strlen(text), 3);
	assert_int_equal(skm_ipc_receive(pair->server, &request, &err), 1);
	assert_int_equal(request.verb, SKM_VERB_REGISTER);
	assert_string_equal(request.id, "web-1");
	assert_int_equal(request.pid, 4711);
	assert_int_equal(request.policy.tcpmem_limit.value, 64 * SKM_MIB);
	for (int i = 0; i < SKM_FD_COUNT; i++)
		assert_int_equal(fcntl(request.fds[i], F_GETFD), FD_CLOEXEC);
	assert_int_equal(count_open(), pair->open_before + 3);
	skm_ipc_request_close(&request);
	assert_int_equal(count_open(), pair->open_before);
}

static void test_descriptors_are_counted(void **state)
{
	struct pair *pair = *state;
	cleanup_free char *registers = format(SKM_VERB_REGISTER), *lists = format(SKM_VERB_LIST);
	static const int wrong[] = {0, 1, 2, 4, 5, 8};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_refused(pair, registers, strlen(registers), wrong[i], EINVAL, "descriptors");
	assert_refused(pair, lists, strlen(lists), 1, EINVAL, "descriptors");
	assert_refused(pair, lists, strlen(lists), 3, EINVAL, "descriptors");
}

static void test_cut_anywhere_is_refused(void **state)
{
	struct pair *pair = *state;
	cleanup_free char *text = format(SKM_VERB_REGISTER);

	for (size_t length = 1; length < strlen(text); length++)
		assert_refused(pair, text, length, 3, EINVAL, "");
}

static void test_garbage_is_refused(void **state)
{
	struct pair *pair = *state;
	static const char *const texts[] = {
	        "x", "{}", "[]", "null", "{\"version\":1}", "{\"version\":1,\"verb\":\"format-disk\"}", "\xff\xfe"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct skm_request request;
		struct skm_err err = SKM_ERR_INIT;
		int r;

		send_with_fds(pair->client, texts[i], strlen(texts[i]), 3);
		r = skm_ipc_receive(pair->server, &request, &err);
		assert_true(r == -EINVAL || r == -EPROTO);
		assert_true(strlen(err.text) > 0);
		assert_int_equal(count_open(), pair->open_before);
	}
}

static void test_another_version_is_named(void **state)
{
	struct pair *pair = *state;

	assert_refused(pair, "{\"version\":77,\"verb\":\"ping\"}", strlen("{\"version\":77,\"verb\":\"ping\"}"), 0, EPROTO, "77");
}

static void test_oversize_is_refused(void **state)
{
	struct pair *pair = *state;
	size_t length = SKM_REQUEST_MAX + 1;
	cleanup_free char *text = malloc(length);

	assert_non_null(text);
	memset(text, ' ', length);
	assert_refused(pair, text, length, 3, EMSGSIZE, "bytes");
}

static void test_server_never_waits(void **state)
{
	struct pair *pair = *state;
	struct skm_request request;
	struct skm_err err = SKM_ERR_INIT;

	assert_int_equal(skm_ipc_receive(pair->server, &request, &err), -EAGAIN);
	skm_close_fd(&pair->client);
	assert_int_equal(skm_ipc_receive(pair->server, &request, &err), 0);
	assert_true(skm_ipc_answer(pair->server, "[]", NULL) < 0); /* and no SIGPIPE */
}

/* A peer that asks and never reads: the answers fill its queue, then the server is told so at once. */
static void test_server_does_not_wait_for_a_reader(void **state)
{
	struct pair *pair = *state;
	int r = 0;

	for (int i = 0; i < 100000 && r == 0; i++)
		r = skm_ipc_answer(pair->server, "[1,2,3]", NULL);
	assert_int_equal(r, -EAGAIN);
}

/* Runs a server of one request in a child: it answers what `data` and `code` say after it has read the request. */
static pid_t serve_once(struct pair *pair, const char *data, int code)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct skm_request request;
		struct skm_err err = SKM_ERR_INIT;
		int r;

		close(pair->client);
		while ((r = skm_ipc_receive(pair->server, &request, &err)) == -EAGAIN)
			usleep(1000);
		if (code)
			skm_err_set(&err, code, "no, because");
		_exit(r == 1 && skm_ipc_answer(pair->server, data, code ? &err : NULL) == 0 ? 0 : 1);
	}
	skm_close_fd(&pair->server);
	return pid;
}

static void reap(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int call(struct pair *pair, enum skm_verb verb, unsigned int msec, char **ret, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;

	request.verb = verb;
	strcpy(request.id, "web-1");
	return skm_ipc_call(pair->client, &request, skm_now_usec() + msec * SKM_USEC_PER_MSEC, ret, err);
}

static void test_call_gets_the_answer(void **state)
{
	struct pair *pair = *state;
	pid_t pid = serve_once(pair, "[1,2]", 0);
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *data = NULL;

	assert_int_equal(call(pair, SKM_VERB_LIST, 5000, &data, &err), 0);
	assert_non_null(data);
	assert_non_null(strchr(data, '2'));
	reap(pid);
}

static void test_call_gets_the_refusal(void **state)
{
	struct pair *pair = *state;
	pid_t pid = serve_once(pair, NULL, EBUSY);
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *data = NULL;

	assert_int_equal(call(pair, SKM_VERB_INSPECT, 5000, &data, &err), -EBUSY);
	assert_contains(err.text, "no, because");
	assert_null(data);
	reap(pid);
}

/* A JSON text of so many bytes: an array of one string. */
static char *make_long(size_t length)
{
	char *text = malloc(length + 1);

	assert_non_null(text);
	memset(text, 'a', length);
	memcpy(text, "[\"", 2);
	memcpy(text + length - 2, "\"]", 3);
	return text;
}

static void test_large_answer_arrives_whole(void **state)
{
	struct pair *pair = *state;
	cleanup_free char *text = make_long(1500000);
	pid_t pid = serve_once(pair, text, 0);
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *data = NULL;
	int open_before = count_open();

	assert_int_equal(call(pair, SKM_VERB_LIST, 5000, &data, &err), 0);
	assert_non_null(data);
	assert_string_equal(data, text);
	assert_int_equal(count_open(), open_before);
	reap(pid);
}

static void test_answer_over_the_bound_is_said(void **state)
{
	struct pair *pair = *state;
	cleanup_free char *text = make_long(SKM_PACKET_MAX + 1);
	pid_t pid = serve_once(pair, text, 0);
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *data = NULL;

	assert_int_equal(call(pair, SKM_VERB_LIST, 5000, &data, &err), -EMSGSIZE);
	assert_contains(err.text, "more than");
	reap(pid);
}

static void test_silent_server_ends_at_the_deadline(void **state)
{
	struct pair *pair = *state;
	struct skm_err err = SKM_ERR_INIT;
	uint64_t begin = skm_now_usec(), took;
	char *data = NULL;

	assert_int_equal(call(pair, SKM_VERB_LIST, 150, &data, &err), -ETIMEDOUT);
	took = skm_now_usec() - begin;
	assert_true(took >= 150 * SKM_USEC_PER_MSEC && took < 1000 * SKM_USEC_PER_MSEC);
	assert_contains(err.text, "did not answer within 1");
	assert_null(data);
	/* what is left may be next to nothing, and is never said to be none */
	assert_int_equal(call(pair, SKM_VERB_LIST, 0, &data, &err), -ETIMEDOUT);
	assert_contains(err.text, "did not answer within 1ms");
}

static void test_server_that_closes_is_said(void **state)
{
	struct pair *pair = *state;
	struct skm_err err = SKM_ERR_INIT;
	char *data = NULL;

	skm_close_fd(&pair->server);
	assert_int_equal(call(pair, SKM_VERB_LIST, 5000, &data, &err), -ECONNRESET);
	assert_contains(err.text, "closed");
}

static void test_some_descriptors_are_none(void **state)
{
	struct pair *pair = *state;
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_err err = SKM_ERR_INIT;
	char *data = NULL;

	request.verb = SKM_VERB_REGISTER;
	request.fds[SKM_FD_PID] = STDERR_FILENO;
	assert_int_equal(skm_ipc_call(pair->client, &request, skm_now_usec() + 1000000, &data, &err), -EINVAL);
}

static char folder[] = "/tmp/skm-test-ipc-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/s", folder);
	return 0;
}

static int remove_folder(void **state)
{
	cleanup_fd int dir = open(folder, O_RDONLY | O_DIRECTORY);

	(void)state;
	unlinkat(dir, "s", 0);
	unlinkat(dir, "s.lock", 0);
	return rmdir(folder);
}

static void test_listen_is_private_and_replaces_the_dead(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	struct stat st;
	int first;

	(void)state;
	assert_int_equal(skm_ipc_connect(path, &err), -ENOENT);
	first = skm_ipc_listen(path, &err);
	assert_true(first >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(skm_ipc_listen(path, &err), -EADDRINUSE);
	close(first);
	assert_int_equal(skm_ipc_connect(path, &err), -ECONNREFUSED);
	first = skm_ipc_listen(path, &err);
	assert_true(first >= 0);
	close(first);
}

static void test_accept_takes_root_and_does_not_wait(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int listens = skm_ipc_listen(path, &err), client = -1, server = -1;

	(void)state;
	assert_true(listens >= 0);
	assert_int_equal(skm_ipc_accept(listens, &err), -EAGAIN);
	client = skm_ipc_connect(path, &err);
	assert_true(client >= 0);
	server = skm_ipc_accept(listens, &err);
	assert_true(geteuid() == 0 ? server >= 0 : server == -EPERM);
	if (server >= 0)
		assert_int_equal(fcntl(server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

/* The peer's user is asked of the kernel, so the file's mode is not all that keeps others out. */
static void test_accept_refuses_others(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int listens = skm_ipc_listen(path, &err);
	int status;
	pid_t pid;

	(void)state;
	assert_true(listens >= 0);
	if (geteuid() != 0)
		return; /* the test above has seen the refusal then */
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	pid = fork();
	if (pid == 0)
		_exit(setresuid(65534, 65534, 65534) == 0 && skm_ipc_connect(path, NULL) >= 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(skm_ipc_accept(listens, &err), -EPERM);
	assert_contains(err.text, "65534");
}

static void test_full_queue_does_not_block_connect(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int listens = skm_ipc_listen(path, &err);
	int clients[256], count = 0, r = 0;

	(void)state;
	assert_true(listens >= 0);
	while (count < 256 && (r = skm_ipc_connect(path, &err)) >= 0)
		clients[count++] = r;
	assert_int_equal(r, -EAGAIN);
	while (count > 0)
		close(clients[--count]);
}

static void test_nothing_was_inherited(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_ipc_listen_inherited(&err), -ENOENT);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_PID", "1", 1);
	assert_int_equal(skm_ipc_listen_inherited(&err), -ENOENT);
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
}

static void test_systemds_socket_is_taken(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	int listens, status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) { /* a process of its own, since descriptor 3 is the test's */
		char number[16];

		listens = skm_ipc_listen(path, &err);
		if (listens < 0 || dup2(listens, 3) < 0)
			_exit(1);
		snprintf(number, sizeof(number), "%d", (int)getpid());
		setenv("LISTEN_PID", number, 1);
		setenv("LISTEN_FDS", "2", 1);
		if (skm_ipc_listen_inherited(&err) != -EINVAL)
			_exit(2);
		setenv("LISTEN_FDS", "1", 1);
		if (skm_ipc_listen_inherited(&err) != 3 || !(fcntl(3, F_GETFD) & FD_CLOEXEC))
			_exit(3);
		if (dup2(STDERR_FILENO, 3) < 0 || skm_ipc_listen_inherited(&err) >= 0)
			_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, make_pair, drop_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        WITH_PAIR(test_register_arrives_whole),
	        WITH_PAIR(test_descriptors_are_counted),
	        WITH_PAIR(test_cut_anywhere_is_refused),
	        WITH_PAIR(test_garbage_is_refused),
	        WITH_PAIR(test_another_version_is_named),
	        WITH_PAIR(test_oversize_is_refused),
	        WITH_PAIR(test_server_never_waits),
	        WITH_PAIR(test_server_does_not_wait_for_a_reader),
	        WITH_PAIR(test_call_gets_the_answer),
	        WITH_PAIR(test_call_gets_the_refusal),
	        WITH_PAIR(test_large_answer_arrives_whole),
	        WITH_PAIR(test_answer_over_the_bound_is_said),
	        WITH_PAIR(test_silent_server_ends_at_the_deadline),
	        WITH_PAIR(test_server_that_closes_is_said),
	        WITH_PAIR(test_some_descriptors_are_none),
	        cmocka_unit_test(test_listen_is_private_and_replaces_the_dead),
	        cmocka_unit_test(test_accept_takes_root_and_does_not_wait),
	        cmocka_unit_test(test_accept_refuses_others),
	        cmocka_unit_test(test_full_queue_does_not_block_connect),
	        cmocka_unit_test(test_nothing_was_inherited),
	        cmocka_unit_test(test_systemds_socket_is_taken),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
