/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "codec/message.h"
#include "ipc/ipc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct client {
	struct skm_watch watch;
	struct skm_server *server;
	int fd;
};

static void drop_client(struct client *client)
{
	client->server->clients--;
	skm_watch_remove(client->server->epoll_fd, client->fd);
	close(client->fd);
	free(client);
}

static char *answer_list(const struct skm_registry *registry)
{
	uint32_t count = skm_registry_count(registry), i = 0;
	cleanup_free const struct skm_report **reports = calloc(count + 1, sizeof(*reports));

	if (!reports)
		return NULL;
	for (const struct skm_container *c = skm_registry_first(registry); c && i < count; c = skm_registry_next(c))
		reports[i++] = skm_registry_report(c);
	return skm_codec_reports_format(reports, i, false);
}

static uint32_t append_events(struct skm_tagged_event *events, const struct skm_container *container)
{
	uint32_t count = skm_registry_event_count(container);

	for (uint32_t i = 0; i < count; i++) {
		memcpy(events[i].id, skm_registry_report(container)->id, sizeof(events[i].id));
		events[i].event = *skm_registry_event(container, i);
	}
	return count;
}

/* A packet holds about this many; of more, the newest are kept. */
#define ANSWER_EVENTS_MAX 2048

static int by_time(const void *a, const void *b)
{
	uint64_t left = ((const struct skm_tagged_event *)a)->event.realtime_usec;
	uint64_t right = ((const struct skm_tagged_event *)b)->event.realtime_usec;

	return left < right ? -1 : left > right;
}

/* only: one container, or NULL for all */
static char *answer_events(const struct skm_registry *registry, const struct skm_container *only)
{
	cleanup_free struct skm_tagged_event *events = NULL;
	const struct skm_container *c;
	uint32_t total = 0, count = 0, skipped;

	for (c = skm_registry_first(registry); c; c = skm_registry_next(c))
		total += !only || c == only ? skm_registry_event_count(c) : 0;
	events = calloc(total + 1, sizeof(*events));
	if (!events)
		return NULL;
	for (c = skm_registry_first(registry); c; c = skm_registry_next(c))
		if (!only || c == only)
			count += append_events(events + count, c);
	qsort(events, count, sizeof(*events), by_time);
	skipped = count > ANSWER_EVENTS_MAX ? count - ANSWER_EVENTS_MAX : 0;
	return skm_codec_events_format(events + skipped, count - skipped, false);
}

static char *answer_ping(const struct skm_server *server)
{
	struct skm_pong pong = {
	        .pid = getpid(),
	        .started_realtime_usec = server->started_realtime_usec,
	        .containers = skm_registry_count(server->registry),
	        .node_loaded_realtime_usec = server->node->loaded_usec,
	};

	snprintf(pong.version, sizeof(pong.version), "%s", SKM_VERSION);
	snprintf(pong.node_file, sizeof(pong.node_file), "%s", server->node->path);
	snprintf(pong.node_trouble, sizeof(pong.node_trouble), "%s", server->node->broken.text);
	return skm_codec_pong_format(&pong);
}

/* The hook asks for every container where it is registered so, whether the node has defaults or not. What a broken node file
 * would have said is not known: that is no fault of the container's. */
static int run_register(struct skm_server *server, struct skm_request *request, struct skm_err *err)
{
	const struct skm_err *broken = &server->node->broken;
	int r = skm_registry_register(server->registry, request, err);
	bool of_node = r == -ENODATA || (r == -EINVAL && request->policy.source == SKM_SOURCE_ANNOTATION_PROFILE);

	if (of_node && broken->code)
		return skm_err_set(err, EOPNOTSUPP, "the node file is broken, so its profiles and defaults are not known: %s",
		                   broken->text);
	return r == -ENODATA ? 0 : r;
}

static int give_back(struct skm_registry *registry, const struct skm_container *only, char **ret, struct skm_err *err)
{
	cleanup_free struct skm_tagged_event *events = NULL;
	size_t count = 0;
	int r = skm_registry_give_back(registry, only, &events, &count, err);

	if (r == 0)
		*ret = skm_codec_events_format(events, count, false);
	return r;
}

/* Whether the verb is about one container that is held. */
static bool names_one(const struct skm_request *request)
{
	switch (request->verb) {
	case SKM_VERB_INSPECT:
	case SKM_VERB_SET:
		return true;
	case SKM_VERB_EVENTS:
	case SKM_VERB_GIVE_BACK:
		return request->id[0];
	default:
		return false;
	}
}

/* *ret: the answer's data, NULL where the verb has none. Returns 0 or -errno with err set. */
static int run_request(struct skm_server *server, struct skm_request *request, char **ret, struct skm_err *err)
{
	struct skm_registry *registry = server->registry;
	const struct skm_container *container = NULL;
	int r = 0;

	*ret = NULL;
	if (names_one(request) && !(container = skm_registry_find(registry, request->id, err)))
		return -err->code;
	switch (request->verb) {
	case SKM_VERB_REGISTER:
		return run_register(server, request, err);
	case SKM_VERB_RELEASE:
		skm_registry_release(registry, request->id);
		return 0;
	case SKM_VERB_LIST:
		*ret = answer_list(registry);
		break;
	case SKM_VERB_INSPECT:
		skm_registry_refresh(registry, container);
		*ret = skm_codec_report_format(skm_registry_report(container), false);
		break;
	case SKM_VERB_EVENTS:
		*ret = answer_events(registry, container);
		break;
	case SKM_VERB_PING:
		*ret = answer_ping(server);
		break;
	case SKM_VERB_RECLAIM:
		return skm_registry_reclaim(registry, request->id, request->reclaim_bytes, err);
	case SKM_VERB_SET:
		r = skm_registry_change(registry, request, err);
		*ret = r < 0 ? NULL : skm_codec_report_format(skm_registry_report(container), false);
		break;
	case SKM_VERB_GIVE_BACK:
		r = give_back(registry, container, ret, err);
		break;
	}
	if (r < 0)
		return r;
	return *ret ? 0 : skm_err_set(err, ENOMEM, "out of memory");
}

static void client_ready(struct skm_watch *watch, uint32_t events)
{
	struct client *client = SKM_WATCH_OWNER(watch, struct client, watch);
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *data = NULL;
	int r = skm_ipc_receive(client->fd, &request, &err);

	(void)events;
	if (r == -EAGAIN)
		return;
	if (r == 0) {
		drop_client(client);
		return;
	}
	if (r > 0)
		r = run_request(client->server, &request, &data, &err);
	if (r < 0)
		skm_log(request.verb == SKM_VERB_REGISTER ? LOG_NOTICE : LOG_DEBUG, "request %s for \"%s\" refused: %s",
		        skm_name_of(&skm_verb_names, request.verb), request.id, err.text);
	skm_ipc_request_close(&request);
	client->server->requests++;
	if (skm_ipc_answer(client->fd, data, r < 0 ? &err : NULL) < 0)
		drop_client(client);
}

static void listen_ready(struct skm_watch *watch, uint32_t events)
{
	struct skm_server *server = SKM_WATCH_OWNER(watch, struct skm_server, watch);
	struct skm_err err = SKM_ERR_INIT;
	int fd = skm_ipc_accept(server->listen_fd, &err);
	struct client *client;

	(void)events;
	if (fd < 0) {
		if (fd != -EAGAIN)
			skm_log(LOG_WARNING, "%s", err.text);
		if (fd == -EMFILE || fd == -ENFILE)
			usleep(10000); /* the connection stays in the queue: not to spin on it */
		return;
	}
	client = server->clients < SKM_CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		skm_log(LOG_WARNING, "more than %d connections at once: one was closed", SKM_CLIENTS_MAX);
		close(fd);
		return;
	}
	*client = (struct client){.watch.ready = client_ready, .server = server, .fd = fd};
	server->clients++;
	if (skm_watch_add(server->epoll_fd, fd, EPOLLIN, &client->watch, &err) < 0)
		drop_client(client);
}

int skm_serve_start(struct skm_server *server, struct skm_err *err)
{
	server->watch.ready = listen_ready;
	return skm_watch_add(server->epoll_fd, server->listen_fd, EPOLLIN, &server->watch, err);
}
