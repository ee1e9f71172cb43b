#include "sandbox/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

#define ATTEMPTS 64

struct id_range {
    uint32_t first, count;
};

/* FIRST:COUNT, all of it above the system's and people's ids, none of it the overflow id. */
static int read_range(struct id_range *range, sbr_error *err)
{
    const char *text = getenv(IDS_VARIABLE);
    unsigned long first, count;
    char *end;

    *range = (struct id_range){ IDS_FIRST, IDS_COUNT };
    if (!text || !*text)
        return 0;
    first = strtoul(text, &end, 10);
    count = *end == ':' ? strtoul(end + 1, &end, 10) : 0;
    if (*end || first < 65536 || count == 0 || count > IDS_COUNT || first > 0xfffffffeUL - count)
        return err_set(err, SBR_E_INVALID, "ids",
                       IDS_VARIABLE "='%.40s' is not FIRST:COUNT with FIRST from 65536 and COUNT "
                                    "from 1 to %u",
                       text, IDS_COUNT);
    *range = (struct id_range){ (uint32_t)first, (uint32_t)count };
    return 0;
}

/* An abstract socket name is held as long as its socket is open, is gone with its process however
 * that ends, and needs no directory to be writable. */
static int hold(uint32_t id)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    scoped_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int len;

    if (fd < 0)
        return -1;
    len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "sandbox-run/id/%u", id);
    if (bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) < 0)
        return -1;
    return take_fd(fd);
}

int ids_take(struct ids *ids, const struct features *features, sbr_error *err)
{
    struct id_range range;
    uint32_t start;

    *ids = (struct ids){ .host_uid = features->uid, .host_gid = features->gid, .lock_fd = -1 };
    if (features->uid != 0)
        return 0;
    if (read_range(&range, err) < 0)
        return err->code;
    if (getrandom(&start, sizeof(start), 0) != sizeof(start))
        return err_set_errno(err, "ids", "cannot choose an id");
    for (uint32_t i = 0; i < ATTEMPTS && i < range.count; i++) {
        uint32_t id = range.first + (start + i) % range.count;

        ids->lock_fd = hold(id);
        if (ids->lock_fd >= 0) {
            ids->host_uid = ids->host_gid = id;
            return 0;
        }
        if (errno != EADDRINUSE)
            return err_set_errno(err, "ids", "cannot hold a user id");
    }
    return err_set(err, SBR_E_BUSY, "ids",
                   "no user id is free for another run; widen " IDS_VARIABLE "=FIRST:COUNT");
}

void ids_release(struct ids *ids)
{
    scope_close_fd(&ids->lock_fd);
    ids->lock_fd = -1;
}

static int write_map(pid_t pid, const char *file, const char *text)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    return fd_write_small(AT_FDCWD, path, text);
}

int ids_map(const struct ids *ids, const struct plan *plan, const struct process *init,
            sbr_error *err)
{
    char uid_map[64], gid_map[64];

    snprintf(uid_map, sizeof(uid_map), "%u %u 1\n", plan->inside_uid, ids->host_uid);
    snprintf(gid_map, sizeof(gid_map), "%u %u 1\n", plan->inside_gid, ids->host_gid);
    /* An ordinary user may map a group only after giving up setgroups. */
    if (ids->lock_fd < 0 && write_map(init->pid, "setgroups", "deny") < 0 && errno != ENOENT)
        return err_set_errno(err, "ids", "cannot give up setgroups");
    if (write_map(init->pid, "uid_map", uid_map) < 0 ||
        write_map(init->pid, "gid_map", gid_map) < 0)
        return err_set_errno(err, "ids", "cannot map user %u to %u", plan->inside_uid,
                             ids->host_uid);
    return 0;
}
