/* Resource limits per process, below the limits of the whole tree. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/confiner.h"

/* The number after a name in /proc/PID/status. */
static uint64_t status_number(const char *status, const char *name)
{
    const char *at = strstr(status, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* The kernel's number of the initial user namespace. */
#define FIRST_USER_NAMESPACE "user:[4026531837]"

/* The user namespace of a process, as text; false where we may not see it. */
static bool user_namespace_of(int proc_fd, const char *pid, char ret[64])
{
    char path[32];
    ssize_t n;

    snprintf(path, sizeof(path), "%.16s/ns/user", pid);
    n = readlinkat(proc_fd, path, ret, 63);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* True for a task of our user in the user namespace that ours was made in: it is counted there.  We
 * may see the namespace of our user's tasks in ours or below it, unless they are not dumpable: root
 * owns their directories.  Init has more capabilities than this process, so it is not asked. */
static bool counts_elsewhere(int proc_fd, const char *pid)
{
    char ours[64], theirs[64];
    struct stat st;

    return user_namespace_of(proc_fd, "self", ours) && strcmp(ours, FIRST_USER_NAMESPACE) != 0 &&
           fstatat(proc_fd, pid, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == getuid() &&
           !user_namespace_of(proc_fd, pid, theirs);
}

/* Tasks that the user of the run has already, except init and this process, which the plan's number
 * includes.  Needed only where the run makes no user namespace, in which the count would start from
 * zero: RLIMIT_NPROC counts all tasks of a user.  The owner of the directory does not show the
 * user, because root owns those of processes that are not dumpable. */
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

static int apply_limit(const struct plan_rlimit *want, uint64_t more, sbr_error *err)
{
    struct rlimit limit, now;

    if (getrlimit((int)want->resource, &now) < 0)
        return err_set_errno(err, "rlimits", "cannot read limit %u", want->resource);
    /* The inherited limit may be lower already, and cannot be raised again. */
    limit.rlim_max = want->hard + more < now.rlim_max ? want->hard + more : now.rlim_max;
    limit.rlim_cur = want->soft + more < limit.rlim_max ? want->soft + more : limit.rlim_max;
    /* Inside a sandbox of ours the limit may have this value already, and the filter
     * may refuse setrlimit. */
    if (limit.rlim_cur == now.rlim_cur && limit.rlim_max == now.rlim_max)
        return 0;
    if (setrlimit((int)want->resource, &limit) < 0)
        return err_set_errno(err, "rlimits", "cannot set limit %u", want->resource);
    return 0;
}

static int rlimits_apply(struct inside *in, sbr_error *err)
{
    uint64_t others = in->plan->run_dir ? other_tasks_of_user(in->proc_fd) : 0;

    for (size_t i = 0; i < in->plan->n_rlimits; i++) {
        const struct plan_rlimit *want = &in->plan->rlimits[i];

        if (want->resource != RLIMIT_NOFILE &&
            apply_limit(want, want->resource == RLIMIT_NPROC ? others : 0, err) < 0)
            return err->code;
    }
    return 0;
}

/* The filter refuses RLIMIT_CORE, so it is set before; the other limits come with the program. */
static int shell_apply(struct inside *in, sbr_error *err)
{
    static const struct plan_rlimit no_core = { RLIMIT_CORE, 1, 1 };

    (void)in;
    return apply_limit(&no_core, 0, err);
}

const struct confiner shell_rlimits_confiner = { "rlimits", NULL, shell_apply };
const struct confiner rlimits_confiner = { "rlimits", NULL, rlimits_apply };

/* Only for the program: init opens files to hand them out after the run, and the program
 * decides how deep those are. */
static int open_files_apply(struct inside *in, sbr_error *err)
{
    for (size_t i = 0; i < in->plan->n_rlimits; i++)
        if (in->plan->rlimits[i].resource == RLIMIT_NOFILE &&
            !plan_leaves_out(in->plan, "rlimits") && apply_limit(&in->plan->rlimits[i], 0, err) < 0)
            return err->code;
    return 0;
}

const struct confiner open_files_confiner = { "open-files", NULL, open_files_apply };
