/* The supervisor's side of the janitor; what the janitor does is in init/janitor.c. */
#include "sandbox/janitor.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/protocol.h"

int janitor_start(struct janitor *janitor, const struct cgroup *cg, sbr_error *err)
{
    const char *const argv[] = { JANITOR_NAME, cg->name, NULL };
    struct spawn spawn = { .cgroup_fd = -1, .argv = argv };
    int pair[2];
    int r;

    *janitor = (struct janitor){ .process = { .pidfd = -1 }, .socket = -1 };
    if (!cg->controllers)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set_errno(err, "janitor", "cannot make a socket pair");
    spawn.fds[spawn.n_fds++] = pair[1];
    for (unsigned int i = 0; i < N_CG; i++)
        if (cg->parent_fd[i] >= 0)
            spawn.fds[spawn.n_fds++] = cg->parent_fd[i];
    r = spawn_start(&spawn, &janitor->process, err);
    close(pair[1]);
    if (r < 0) {
        close(pair[0]);
        return r;
    }
    janitor->socket = pair[0];
    return 0;
}

void janitor_watch(const struct janitor *janitor, const struct process *init)
{
    /* If this fails the janitor is gone, and a later sweep does its work. */
    if (janitor->socket >= 0)
        (void)fd_send(janitor->socket, "", 1, &init->pidfd, 1);
}

void janitor_stop(struct janitor *janitor, bool reap)
{
    siginfo_t info;

    if (janitor->socket < 0)
        return;
    close(janitor->socket);
    if (reap)
        waitid(P_PIDFD, (id_t)janitor->process.pidfd, &info, WEXITED | __WALL);
    close(janitor->process.pidfd);
    janitor->socket = janitor->process.pidfd = -1;
}
