#include "sandbox/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define MAP_SIZE 160 /* four lines of three numbers */
#define ATTEMPTS 64

struct id_range {
    uint32_t first, count;
};

/* True when our own user namespace maps the whole range. */
static bool is_mapped(const char *map, const struct id_range *range)
{
    for (const char *line = map; line && *line;) {
        char *end;
        unsigned long first = strtoul(line, &end, 10), count;

        (void)strtoul(end, &end, 10); /* the id outside */
        count = strtoul(end, &end, 10);
        if (range->first >= first && range->first - first + range->count <= count)
            return true;
        line = strchr(end, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

/* The id in the next outer user namespace.  An ordinary user may be root in a namespace of its own,
 * and root may have any id. */
static unsigned long outside_of(const char *map, uint32_t id)
{
    for (const char *line = map; line && *line;) {
        char *end;
        unsigned long first = strtoul(line, &end, 10), outside = strtoul(end, &end, 10);

        if (id >= first && id - first < strtoul(end, &end, 10))
            return outside + (id - first);
        line = strchr(end, '\n');
        line = line ? line + 1 : NULL;
    }
    return id;
}

/* Our own range or, in a container that maps few ids, systemd's range for dynamic users. */
static bool choose_range(const char *map, struct id_range *range)
{
    static const struct id_range ranges[] = { { IDS_FIRST, IDS_COUNT },
                                              { IDS_FIRST_OF_FEW, IDS_COUNT_OF_FEW } };

    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        *range = ranges[i];
        if (is_mapped(map, range))
            return true;
    }
    return false;
}

static int read_own_map(char *map, size_t size)
{
    return fd_read_small(AT_FDCWD, "/proc/self/uid_map", map, size) < 0 ? -1 : 0;
}

/* Root in a container may lack capabilities. */
static bool has_rights(uint32_t needed)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 } };

    return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & needed) == needed;
}

void ids_probe(struct features *features)
{
    struct id_range range;
    char map[4096];

    if (read_own_map(map, sizeof(map)) < 0)
        return;
    features->privileged = features->uid == 0 && has_rights(1u << CAP_SETUID | 1u << CAP_SETGID) &&
                           choose_range(map, &range);
    features->mounts = has_rights(1u << CAP_SYS_ADMIN);
    features->is_host_root = !features->privileged && outside_of(map, features->uid) == 0;
}

/* FIRST:COUNT, entirely above the ids of the system and of people, without the overflow id. */
static int read_range(struct id_range *range, sbr_error *err)
{
    const char *text = getenv(IDS_VARIABLE);
    char map[4096];
    unsigned long first, count;
    char *end;

    if (!text || !*text) {
        if (read_own_map(map, sizeof(map)) < 0 || !choose_range(map, range))
            return err_set_errno(err, "ids", "cannot read which user ids there are");
        return 0;
    }
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

int ids_take(struct ids *ids, const struct features *features, sbr_error *err)
{
    struct id_range range;
    struct id_lock lock;
    uint32_t start;
    int r = 0;

    *ids = (struct ids){ .host_uid = features->uid, .host_gid = features->gid, .lock_fd = -1 };
    if (!features->privileged)
        return 0;
    if (read_range(&range, err) < 0)
        return err->code;
    if (getrandom(&start, sizeof(start), 0) != sizeof(start))
        return err_set_errno(err, "ids", "cannot choose an id");
    if (id_locks_open(&lock, err) < 0)
        return err->code;
    for (uint32_t i = 0; r == 0 && i < ATTEMPTS && i < range.count; i++) {
        uint32_t id = range.first + (start + i) % range.count;

        r = id_locks_hold(&lock, id);
        ids->host_uid = ids->host_gid = id;
    }
    ids->lock_fd = lock.fd;
    if (r == 1)
        return 0;
    if (r < 0)
        err_set_errno(err, "ids", "cannot hold a user id");
    else
        err_set(err, SBR_E_BUSY, "ids",
                "no user id is free for another run; widen " IDS_VARIABLE "=FIRST:COUNT");
    ids_release(ids);
    return err->code;
}

void ids_release(struct ids *ids)
{
    scope_close_fd(&ids->lock_fd);
    ids->lock_fd = -1;
}

/* Our pid of init or, where /proc belongs to an outer pid namespace, the pid there. */
static pid_t pid_in_proc(const struct process *init)
{
    char path[64], text[512];
    const char *line;
    ssize_t n;

    n = readlink("/proc/self", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    if (strtol(text, NULL, 10) == getpid())
        return init->pid;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", init->pidfd);
    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0 || !(line = strstr(text, "\nPid:")))
        return init->pid;
    return (pid_t)strtol(line + strlen("\nPid:"), NULL, 10);
}

static int write_map(pid_t pid, const char *file, const char *text)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    return fd_write_small(AT_FDCWD, path, text);
}

static int map_error(const char *what, sbr_error *err)
{
    int sys_errno = errno;

    if (sys_errno == EROFS)
        return err_set(err, SBR_E_UNSUPPORTED, "ids",
                       "/proc is read-only here; `mount -o remount,rw /proc` mends it");
    err_set_errno(err, "namespaces", "cannot %s through /proc", what);
    if (sys_errno == EPERM) /* root without its rights may not map itself */
        err_set_retry(err, ERR_WITHOUT_USER_NAMESPACES);
    return err->code;
}

static int write_maps(pid_t pid, struct id_pair inside, struct id_pair host)
{
    char uid_map[64], gid_map[64];

    snprintf(uid_map, sizeof(uid_map), "%u %u 1\n", inside.uid, host.uid);
    snprintf(gid_map, sizeof(gid_map), "%u %u 1\n", inside.gid, host.gid);
    return write_map(pid, "uid_map", uid_map) < 0 ? -1 : write_map(pid, "gid_map", gid_map);
}

int ids_map(const struct ids *ids, const struct plan *plan, const struct process *init,
            sbr_error *err)
{
    pid_t pid = pid_in_proc(init);
    struct id_pair inside = { plan->inside_uid, plan->inside_gid };

    /* An ordinary user may map a group only after giving up setgroups. */
    if (ids->lock_fd < 0 && write_map(pid, "setgroups", "deny") < 0 && errno != ENOENT)
        return map_error("give up setgroups", err);
    if (write_maps(pid, inside, (struct id_pair){ ids->host_uid, ids->host_gid }) == 0)
        return 0;
    return map_error("map its user", err);
}

int ids_map_factory(const struct ids *ids, const struct process *init, sbr_error *err)
{
    struct id_range uids = { ids->host_uid, 1 }, gids = { ids->host_gid, 1 };
    pid_t pid = pid_in_proc(init);
    char text[64];

    if (ids->lock_fd < 0 && write_map(pid, "setgroups", "deny") < 0 && errno != ENOENT)
        return map_error("give up setgroups", err);
    if (ids->lock_fd >= 0 && read_range(&uids, err) < 0)
        return err->code;
    if (ids->lock_fd >= 0)
        gids = uids;
    snprintf(text, sizeof(text), "%u %u %u\n", uids.first, uids.first, uids.count);
    if (write_map(pid, "uid_map", text) < 0)
        return map_error("map its users", err);
    snprintf(text, sizeof(text), "%u %u %u\n", gids.first, gids.first, gids.count);
    return write_map(pid, "gid_map", text) < 0 ? map_error("map its groups", err) : 0;
}

/* Maps one id to another, and all others to themselves; 4294967295 is not an id. */
static void map_the_rest(unsigned int inside, unsigned int host, char text[MAP_SIZE])
{
    unsigned int low = inside < host ? inside : host, high = inside < host ? host : inside;
    int n = snprintf(text, MAP_SIZE, "%u %u 1\n", inside, host);

    if (low > 0)
        n += snprintf(text + n, MAP_SIZE - (size_t)n, "0 0 %u\n", low);
    if (high - low > 1)
        n += snprintf(text + n, MAP_SIZE - (size_t)n, "%u %u %u\n", low + 1, low + 1,
                      high - low - 1);
    if (high < UINT32_MAX - 1)
        snprintf(text + n, MAP_SIZE - (size_t)n, "%u %u %u\n", high + 1, high + 1,
                 UINT32_MAX - 1 - high);
}

/* In a container not all ids are mapped; there, files of other owners can only be read. */
static int write_wide_map(pid_t pid, const char *file, unsigned int inside, unsigned int host)
{
    char text[MAP_SIZE];

    map_the_rest(inside, host, text);
    if (write_map(pid, file, text) == 0)
        return 0;
    snprintf(text, sizeof(text), "%u %u 1\n", inside, host);
    return write_map(pid, file, text);
}

int ids_namespace(const struct process *holder, struct id_pair inside, struct id_pair host)
{
    pid_t pid = pid_in_proc(holder);
    char path[64];

    if (write_wide_map(pid, "uid_map", inside.uid, host.uid) < 0 ||
        write_wide_map(pid, "gid_map", inside.gid, host.gid) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}
