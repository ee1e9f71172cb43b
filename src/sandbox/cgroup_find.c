/* cgroup v2: finds the parent for our leaves and prepares it once.
 *
 * A cgroup that holds processes cannot enable controllers for its children, unless it is the root.
 * So a leaf is not made below our own cgroup but beside it: in the nearest ancestor that we may
 * write to and that enables the controllers.
 *
 * Under systemd all cgroups are systemd's, and it may disable controllers at any time, except below
 * a unit with Delegate=.  So a cgroup is ours when systemd does not run, or when it is our
 * delegated unit or below that unit.  In order of preference:
 *
 *   (1) ours, and ready, or only needs its controllers enabled
 *   (2) ours, when this process is alone in it and moves into a child
 *   (3) a new scope from systemd
 *   (4) not ours, but ready
 *
 * The number of controllers outweighs this order. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "sandbox/cgroup.h"
#include "sandbox/dbus.h"

#define V2_MOUNT "/sys/fs/cgroup"
#define SUPERVISOR "supervisor" /* the child of a delegated cgroup that this process moves to */
#define SCOPE_TIMEOUT_US 5000000

static const struct {
    const char *name;
    uint32_t bit;
} v2_controllers[] = {
    { "memory", 1u << CG_MEMORY },
    { "pids", 1u << CG_PIDS },
    { "cpu", 1u << CG_CPU },
};

enum { WANTED = 1u << CG_MEMORY | 1u << CG_PIDS };

/* A candidate for the parent of our leaves. */
struct place {
    enum cgroup_need need;
    uint32_t usable;
    unsigned int score; /* 0: no candidate */
    char path[CGROUP_PATH_MAX];
};

static void read_file(const char *dir, const char *file, char *text, size_t size)
{
    char path[CGROUP_PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    if (fd_read_small(AT_FDCWD, path, text, size) < 0)
        text[0] = '\0';
}

static uint32_t listed_controllers(const char *dir, const char *file)
{
    char text[512], *rest = text;
    uint32_t bits = 0;

    read_file(dir, file, text, sizeof(text));
    for (char *word; (word = strsep(&rest, " \n"));)
        for (size_t i = 0; i < ARRAY_LEN(v2_controllers); i++)
            if (!strcmp(word, v2_controllers[i].name))
                bits |= v2_controllers[i].bit;
    return bits;
}

static bool may_write(const char *dir, const char *file)
{
    char path[CGROUP_PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    return access(path, W_OK) == 0;
}

static bool has_file(const char *dir, const char *file)
{
    char path[CGROUP_PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    return access(path, F_OK) == 0;
}

/* The root of the hierarchy, not of a cgroup namespace: only this one may both hold processes and
 * enable controllers for its children. */
static bool is_real_root(const struct cgroup_view *view, const char *dir)
{
    return !strcmp(dir, view->mount) && !has_file(dir, "cgroup.events");
}

enum occupants { NO_PROCESS, ONLY_OURS, OTHERS };

static enum occupants occupants_of(const char *dir)
{
    char path[CGROUP_PATH_MAX + 32], text[64], us[16];

    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
        return OTHERS; /* too many to read, or a threaded cgroup */
    snprintf(us, sizeof(us), "%d\n", (int)getpid());
    if (!text[0])
        return NO_PROCESS;
    return !strcmp(text, us) ? ONLY_OURS : OTHERS;
}

static bool is_delegated(const char *dir)
{
    char mark[8];

    return getxattr(dir, "user.delegate", mark, sizeof(mark)) == 1
               ? mark[0] == '1'
               : getxattr(dir, "trusted.delegate", mark, sizeof(mark)) == 1 && mark[0] == '1';
}

/* Length of `dir` up to the innermost unit name; 0 when it contains none. */
static size_t unit_length(const char *dir, size_t mount_len)
{
    static const char *const suffixes[] = { ".scope",  ".service", ".slice",
                                            ".socket", ".mount",   ".swap" };
    size_t end = strlen(dir);

    while (end > mount_len) {
        const char *dot = memrchr(dir, '.', end), *slash = memrchr(dir, '/', end);

        for (size_t i = 0; dot && dot > slash && i < ARRAY_LEN(suffixes); i++)
            if (strlen(suffixes[i]) == (size_t)(dir + end - dot) &&
                !strncmp(dot, suffixes[i], strlen(suffixes[i])))
                return end;
        end = slash ? (size_t)(slash - dir) : 0;
    }
    return 0;
}

/* Directories of at least this length are ours; the walk goes from the longest to the shortest. */
static size_t length_of_ours(const struct cgroup_view *view, const char *own)
{
    char unit[CGROUP_PATH_MAX];
    size_t len;

    if (!view->managed)
        return 0;
    len = unit_length(own, strlen(view->mount));
    snprintf(unit, sizeof(unit), "%.*s", (int)len, own);
    return len && (view->delegated || is_delegated(unit)) ? len : SIZE_MAX;
}

enum { FOREIGN = 1, BY_SCOPE, OURS_BUT_CROWDED, OURS };

/* The walk goes upwards: of equal candidates the nearest wins. */
static void offer(struct place *best, const struct place *other, unsigned int rank)
{
    unsigned int score = (unsigned int)__builtin_popcount(other->usable & WANTED) * 8 + rank;

    if (!(other->usable & WANTED) || score <= best->score)
        return;
    *best = *other;
    best->score = score;
}

/* True only for our own service, or for a container whose first process we are: afterwards no
 * process could enter `dir`. */
static bool may_leave(const struct cgroup_view *view, const char *dir)
{
    return view->managed || (!strcmp(dir, view->mount) && getpid() == 1);
}

static void consider_group(const struct cgroup_view *view, const char *dir, bool ours,
                           struct place *best)
{
    struct place place = { .need = CGROUP_READY };
    bool real_root = is_real_root(view, dir);
    enum occupants occupants = OTHERS;
    uint32_t all;

    /* The common ancestor of our cgroup and the leaf: clone3 into the leaf needs this right. */
    if (access(dir, W_OK | X_OK) < 0 || !may_write(dir, "cgroup.procs") ||
        strlen(dir) >= sizeof(place.path))
        return;
    memcpy(place.path, dir, strlen(dir) + 1);
    place.usable = listed_controllers(dir, "cgroup.subtree_control");
    all = place.usable | listed_controllers(dir, "cgroup.controllers");
    if (all != place.usable && view->may_prepare && (ours || real_root) &&
        may_write(dir, "cgroup.subtree_control"))
        occupants = real_root ? NO_PROCESS : occupants_of(dir);
    if (occupants == NO_PROCESS) {
        place.usable = all;
        place.need = CGROUP_ENABLE;
    }
    offer(best, &place, ours ? OURS : FOREIGN);
    if (occupants == ONLY_OURS && may_leave(view, dir)) {
        place.usable = all;
        place.need = CGROUP_LEAVE;
        offer(best, &place, OURS_BUT_CROWDED);
    }
}

/* systemd can enable what its own cgroup has: the root's, or that of the user manager. */
static void consider_scope(const struct cgroup_view *view, struct place *best)
{
    struct systemd_socket sockets[SYSTEMD_MAX_SOCKETS];
    struct place place = { .need = CGROUP_SCOPE };
    unsigned int uid = (unsigned int)geteuid();
    char manager[CGROUP_PATH_MAX];

    if (!view->managed || !view->may_prepare || systemd_sockets(sockets) == 0)
        return;
    if (uid == 0)
        snprintf(manager, sizeof(manager), "%s", view->mount);
    else
        snprintf(manager, sizeof(manager), "%s/user.slice/user-%u.slice/user@%u.service",
                 view->mount, uid, uid);
    place.usable = listed_controllers(manager, "cgroup.controllers");
    offer(best, &place, BY_SCOPE);
}

void cgroup_v2_find(const struct cgroup_view *view, struct cgroup_features *features)
{
    char dir[CGROUP_PATH_MAX];
    struct place best = { 0 };
    int len =
        snprintf(dir, sizeof(dir), "%s%s", view->mount, strcmp(view->own, "/") ? view->own : "");
    size_t ours;

    *features = (struct cgroup_features){ .kind = CGROUP_NONE };
    if (len < 0 || (size_t)len >= sizeof(dir))
        return;
    /* In a container the path may be the host's, while only our own cgroup is mounted. */
    if (strstr(view->own, "/..") || access(dir, F_OK) < 0)
        snprintf(dir, sizeof(dir), "%s", view->mount);
    ours = length_of_ours(view, dir);
    for (;;) {
        consider_group(view, dir, strlen(dir) >= ours, &best);
        if (strlen(dir) <= strlen(view->mount))
            break;
        *strrchr(dir, '/') = '\0';
    }
    consider_scope(view, &best);
    if (!best.score)
        return;
    features->kind = CGROUP_V2;
    features->need = best.need;
    features->usable = best.usable | 1u << CG_CPUACCT; /* every cgroup has cpu.stat */
    memcpy(features->parent[0], best.path, sizeof(best.path));
}

static bool own_group(char own[CGROUP_PATH_MAX])
{
    char text[8192];

    if (fd_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
        return false;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        if (!strncmp(line, "0::/", 4) && strlen(line) - 3 < CGROUP_PATH_MAX) {
            memcpy(own, line + 3, strlen(line) - 2);
            return true;
        }
    return false;
}

static void find_here(bool may_prepare, struct cgroup_features *features)
{
    struct cgroup_view view = { .mount = V2_MOUNT,
                                .managed = systemd_manages(),
                                .may_prepare = may_prepare };

    *features = (struct cgroup_features){ .kind = CGROUP_NONE };
    if (own_group(view.own))
        cgroup_v2_find(&view, features);
}

void cgroup_v2_probe(struct cgroup_features *features)
{
    find_here(true, features);
}

/* One write for all controllers, because each write is slow; one by one when that is refused. */
static int enable_controllers(const char *dir, sbr_error *err)
{
    char path[CGROUP_PATH_MAX + 32], text[16];
    uint32_t all = listed_controllers(dir, "cgroup.controllers"), on;

    snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
    if ((all & 1u << CG_CPU && (all & WANTED) == WANTED) &&
        fd_write_small(AT_FDCWD, path, "+memory +pids +cpu") == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(v2_controllers); i++) {
        snprintf(text, sizeof(text), "+%s", v2_controllers[i].name);
        if (all & v2_controllers[i].bit && fd_write_small(AT_FDCWD, path, text) < 0)
            err_set_errno(err, "cgroup", "cannot switch on '%s' in '%s'", v2_controllers[i].name,
                          dir);
    }
    on = listed_controllers(dir, "cgroup.subtree_control");
    return (on & WANTED) == (all & WANTED) ? 0 : err->code;
}

static int go_below(const char *dir, sbr_error *err)
{
    char path[CGROUP_PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s/" SUPERVISOR, dir);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_set_errno(err, "cgroup", "cannot make '%s'", path);
    snprintf(path, sizeof(path), "%s/" SUPERVISOR "/cgroup.procs", dir);
    if (fd_write_small(AT_FDCWD, path, "0") < 0)
        return err_set_errno(err, "cgroup", "cannot move to '%s'", path);
    return 0;
}

static bool is_in_scope(const char *unit)
{
    char own[CGROUP_PATH_MAX];

    return own_group(own) && !strcmp(strrchr(own, '/') + 1, unit);
}

static int ask_systemd(sbr_error *err)
{
    struct systemd_socket sockets[SYSTEMD_MAX_SOCKETS];
    unsigned int n = systemd_sockets(sockets);
    char unit[64];
    struct systemd_scope scope = { unit, SCOPE_TIMEOUT_US, is_in_scope };
    int r = err_set(err, SBR_E_UNSUPPORTED, "systemd", "systemd cannot be reached");

    snprintf(unit, sizeof(unit), "sandbox-run-%d.scope", (int)getpid());
    /* A refusal is final; only a socket without a listener leads to the next one. */
    for (unsigned int i = 0; i < n && r < 0; i++) {
        r = systemd_start_scope(&sockets[i], &scope, err);
        if (r < 0 && r != SBR_E_SYSTEM)
            break;
    }
    return r;
}

/* A user manager does not mark delegated cgroups: only the manager itself knows whether our unit is
 * delegated.  We ask it only when that would help. */
static bool find_delegated(struct cgroup_features *features)
{
    struct cgroup_view view = {
        .mount = V2_MOUNT, .managed = true, .delegated = true, .may_prepare = true
    };
    struct systemd_socket sockets[SYSTEMD_MAX_SOCKETS];
    struct cgroup_features found;
    char manager[64], *unit;

    snprintf(manager, sizeof(manager), "/user@%u.service/", (unsigned int)geteuid());
    if (!own_group(view.own) || !strstr(view.own, manager) || systemd_sockets(sockets) == 0)
        return false;
    cgroup_v2_find(&view, &found);
    if (found.kind != CGROUP_V2 || found.need == CGROUP_SCOPE)
        return false;
    view.own[unit_length(view.own, 0)] = '\0';
    unit = strrchr(view.own, '/');
    if (!unit || !systemd_is_delegated(&sockets[0], unit + 1, SCOPE_TIMEOUT_US))
        return false;
    *features = found;
    return true;
}

static int enter_scope(struct cgroup_features *features, sbr_error *err)
{
    char own[CGROUP_PATH_MAX];

    if (ask_systemd(err) < 0)
        return err->code;
    if (!own_group(own) || strlen(own) + sizeof(V2_MOUNT) > sizeof(features->parent[0]))
        return err_set(err, SBR_E_SYSTEM, "cgroup", "our cgroup is not known");
    snprintf(features->parent[0], sizeof(features->parent[0]), V2_MOUNT "%.490s", own);
    features->need = CGROUP_LEAVE;
    return 0;
}

static int do_prepare(struct cgroup_features *features, sbr_error *err)
{
    const char *parent = features->parent[0];

    if (features->need == CGROUP_SCOPE && !find_delegated(features) &&
        enter_scope(features, err) < 0)
        return err->code;
    if (features->need == CGROUP_LEAVE && go_below(parent, err) < 0)
        return err->code;
    if (features->need != CGROUP_READY && enable_controllers(parent, err) < 0)
        return err->code;
    features->need = CGROUP_READY;
    features->usable = listed_controllers(parent, "cgroup.subtree_control") | 1u << CG_CPUACCT;
    return 0;
}

int cgroup_prepare(struct cgroup_features *features, sbr_error *err)
{
    int r;

    if (features->need == CGROUP_READY)
        return 0;
    r = do_prepare(features, err);
    if (r < 0) {
        log_info("cgroup", "%s", err->message);
        find_here(false, features);
    } else {
        log_debug("cgroup", "runs are in '%s'", features->parent[0]);
    }
    return r;
}
