#include "lib/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/backend_http.h"
#include "base/fd.h"
#include "base/text.h"

#define PIECE (1 << 20)
#define MOST ((uint64_t)64 << 30) /* as much as skopeo may write */

static int refuse(const char *name, int fd, int status, sbr_error *err)
{
    char body[300], said[250];
    ssize_t n = fd_read_full(fd, body, sizeof(body) - 1);

    body[n > 0 ? n : 0] = '\0';
    text_copy_visibly(said, sizeof(said), body, strcspn(body, "\r\n"));
    return err_set(err, status == 404 ? SBR_E_NOT_FOUND : SBR_E_SYSTEM, "image",
                   "the daemon does not give the image '%.150s': %.250s", name,
                   said[0] ? said : "it gave no reason");
}

static int copy(int from, int to, sbr_error *err)
{
    scoped_free char *piece = malloc(PIECE);
    uint64_t all = 0;
    ssize_t n;

    if (!piece)
        return err_set_oom(err, "image");
    while ((n = read(from, piece, PIECE)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && fd_write_all(to, piece, (size_t)n) < 0)
            return err_set_errno(err, "image", "cannot write the daemon's archive");
        all += n > 0 ? (uint64_t)n : 0;
        if (all > MOST)
            return err_set(err, SBR_E_INVALID, "image",
                           "the daemon's archive is longer than %d GiB", (int)(MOST >> 30));
    }
    return n < 0 ? err_set_errno(err, "image", "cannot read the daemon's archive") : 0;
}

bool image_daemon_has(const char *name)
{
    scoped_free char *path = text_format("/images/%s/json", name);
    scoped_free struct backend_reply *reply = malloc(sizeof(*reply));
    struct backend_call call = { .method = "GET", .path = path };
    const char *address;
    sbr_error ignored;

    return path && reply && backend_engine_docker_socket(&address, &ignored) == 0 &&
           backend_http_ask(address, &call, reply, &ignored) == 0 && reply->status == 200;
}

/* The socket is opened by us, not by skopeo: it gives every right on the machine. */
int image_daemon_save(const char *name, int dir_fd, const char *file, sbr_error *err)
{
    scoped_free char *path = text_format("/images/%s/get", name);
    scoped_free struct backend_reply *reply = malloc(sizeof(*reply));
    struct backend_call call = { .method = "GET", .path = path };
    scoped_fd int from = -1, to = -1;
    const char *address;

    if (!path || !reply)
        return err_set_oom(err, "image");
    if (backend_engine_docker_socket(&address, err) < 0)
        return err->code;
    from = backend_http_stream(address, &call, reply, err);
    if (from < 0)
        return err->code;
    if (reply->status != 200)
        return refuse(name, from, reply->status, err);
    (void)unlinkat(dir_fd, file, 0); /* of a pull that was killed */
    to = openat(dir_fd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    /* skopeo reads it as another user; the directory keeps all others away. */
    if (to < 0 || fchmod(to, 0644) < 0)
        return err_set_errno(err, "image", "cannot write the daemon's archive");
    return copy(from, to, err);
}
