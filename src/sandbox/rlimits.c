/* Resource limits of each process, below the limits of the whole tree. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "sandbox/confiner.h"

/* Tasks that the user of the run has already.  Only where there is no user namespace, in which the
 * count would start from nothing: RLIMIT_NPROC is about all of a user's. */
static uint64_t tasks_of_user(int proc_fd)
{
    int copy = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;
    uint64_t n = 0;

    while (dir && (entry = readdir(dir))) {
        char path[32];
        struct stat st;

        snprintf(path, sizeof(path), "%.16s/task", entry->d_name);
        /* A directory's links: itself, its parent, and each task's. */
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            fstatat(proc_fd, path, &st, 0) == 0 && st.st_uid == getuid() && st.st_nlink > 2)
            n += st.st_nlink - 2;
    }
    return n;
}

static int rlimits_apply(struct inside *in, sbr_error *err)
{
    /* Init and this process are in the plan's number already. */
    uint64_t found = in->plan->place ? tasks_of_user(in->proc_fd) : 0;
    uint64_t others = found > 2 ? found - 2 : 0;

    for (size_t i = 0; i < in->plan->n_rlimits; i++) {
        const struct plan_rlimit *want = &in->plan->rlimits[i];
        uint64_t more = want->resource == RLIMIT_NPROC ? others : 0;
        struct rlimit limit, now;

        if (getrlimit((int)want->resource, &now) < 0)
            return err_set_errno(err, "rlimits", "cannot read limit %u", want->resource);
        /* What we were started with may be lower already, and cannot be raised again. */
        limit.rlim_max = want->hard + more < now.rlim_max ? want->hard + more : now.rlim_max;
        limit.rlim_cur = want->soft + more < limit.rlim_max ? want->soft + more : limit.rlim_max;
        /* In a sandbox of ours it may be so already, and not be ours to set. */
        if (limit.rlim_cur == now.rlim_cur && limit.rlim_max == now.rlim_max)
            continue;
        if (setrlimit((int)want->resource, &limit) < 0)
            return err_set_errno(err, "rlimits", "cannot set limit %u", want->resource);
    }
    return 0;
}

const struct confiner rlimits_confiner = { "rlimits", NULL, rlimits_apply };
