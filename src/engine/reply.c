/* Replies to clients.  A client that does not read them is dropped: the engine buffers nothing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/engine_internal.h"

struct engine_reply reply_of(uint32_t answer, const char *reason)
{
    struct engine_reply reply = { .version = ENGINE_VERSION, .answer = answer };

    snprintf(reply.reason, sizeof(reply.reason), "%s", reason);
    return reply;
}

int reply_send(struct client *client, const struct engine_reply *reply, const int *fds, size_t n)
{
    if (fd_send(client->fd, reply, sizeof(*reply), fds, n) == 0)
        return 0;
    log_info("engine", "%s cannot be answered: %s", client->process, strerror(errno));
    shutdown(client->fd, SHUT_RDWR);
    return -1;
}

void reply_status(struct client *client)
{
    scoped_free char *json = engine_status_json(client->engine);
    scoped_fd int fd = json ? fd_sealed_memory("engine-status", json, strlen(json), 0) : -1;
    struct engine_reply reply =
        reply_of(ENGINE_STATE, fd < 0 ? "the engine has no memory left" : "");

    (void)reply_send(client, &reply, &fd, fd >= 0);
}
