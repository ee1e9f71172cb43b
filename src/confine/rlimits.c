/* Resource limits of each process, below the limits of the whole tree. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "confine/confiner.h"

/* A number after a name of /proc/PID/status. */
static uint64_t status_number(const char *status, const char *name)
{
    const char *at = strstr(status, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* The kernel's number of the first user namespace of all. */
#define FIRST_USER_NAMESPACE "user:[4026531837]"

/* Whose namespace of users that is, as text; false where it is not for us to see. */
static bool user_namespace_of(int proc_fd, const char *pid, char ret[64])
{
    char path[32];
    ssize_t n;

    snprintf(path, sizeof(path), "%.16s/ns/user", pid);
    n = readlinkat(proc_fd, path, ret, 63);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* A task of our user in the namespace that ours was made in has a count of its own there.  We may see
 * the namespace of whatever of our user's is in ours or below it, unless it cannot be dumped: then its
 * directory is root's.  Init has more capabilities than we have, so it is not asked. */
static bool counts_elsewhere(int proc_fd, const char *pid)
{
    char ours[64], theirs[64];
    struct stat st;

    return user_namespace_of(proc_fd, "self", ours) && strcmp(ours, FIRST_USER_NAMESPACE) != 0 &&
           fstatat(proc_fd, pid, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == getuid() &&
           !user_namespace_of(proc_fd, pid, theirs);
}

/* Tasks that the user of the run has already, without init and this process, which are in the plan's
 * number.  Only where the run makes no user namespace, in which the count would start from nothing:
 * RLIMIT_NPROC is about all of a user's.  Not by the owner of the directory: those of processes that
 * cannot be dumped are root's. */
static uint64_t other_tasks_of_user(int proc_fd)
{
    int copy = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;
    uint64_t n = 0;

    while (dir && (entry = readdir(dir))) {
        char path[32], status[4096];
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        snprintf(path, sizeof(path), "%.16s/status", entry->d_name);
        if (pid > 0 && pid != getpid() && pid != getppid() &&
            fd_read_small(proc_fd, path, status, sizeof(status)) > 0 &&
            status_number(status, "\nUid:") == getuid() &&
            !counts_elsewhere(proc_fd, entry->d_name))
            n += status_number(status, "\nThreads:");
    }
    return n;
}

/* `more` comes on top of what the plan says. */
static int apply_limit(const struct plan_rlimit *want, uint64_t more, sbr_error *err)
{
    struct rlimit limit, now;

    if (getrlimit((int)want->resource, &now) < 0)
        return err_set_errno(err, "rlimits", "cannot read limit %u", want->resource);
    /* What we were started with may be lower already, and cannot be raised again. */
    limit.rlim_max = want->hard + more < now.rlim_max ? want->hard + more : now.rlim_max;
    limit.rlim_cur = want->soft + more < limit.rlim_max ? want->soft + more : limit.rlim_max;
    /* In a sandbox of ours it may be so already, and not be ours to set. */
    if (limit.rlim_cur == now.rlim_cur && limit.rlim_max == now.rlim_max)
        return 0;
    if (setrlimit((int)want->resource, &limit) < 0)
        return err_set_errno(err, "rlimits", "cannot set limit %u", want->resource);
    return 0;
}

static int rlimits_apply(struct inside *in, sbr_error *err)
{
    uint64_t others = in->plan->place ? other_tasks_of_user(in->proc_fd) : 0;

    for (size_t i = 0; i < in->plan->n_rlimits; i++) {
        const struct plan_rlimit *want = &in->plan->rlimits[i];

        if (want->resource != RLIMIT_NOFILE &&
            apply_limit(want, want->resource == RLIMIT_NPROC ? others : 0, err) < 0)
            return err->code;
    }
    return 0;
}

/* Core files cannot be spoken of once the filter holds; the rest comes with the program. */
static int shell_apply(struct inside *in, sbr_error *err)
{
    static const struct plan_rlimit no_core = { RLIMIT_CORE, 1, 1 };

    (void)in;
    return apply_limit(&no_core, 0, err);
}

const struct confiner shell_rlimits_confiner = { "rlimits", NULL, shell_apply };
const struct confiner rlimits_confiner = { "rlimits", NULL, rlimits_apply };

/* The program's alone: init opens what is to be handed out when all is over, and how deep that is, is up to
 * the program. */
static int open_files_apply(struct inside *in, sbr_error *err)
{
    for (size_t i = 0; i < in->plan->n_rlimits; i++)
        if (in->plan->rlimits[i].resource == RLIMIT_NOFILE &&
            !plan_leaves_out(in->plan, "rlimits") && apply_limit(&in->plan->rlimits[i], 0, err) < 0)
            return err->code;
    return 0;
}

const struct confiner open_files_confiner = { "open-files", NULL, open_files_apply };
