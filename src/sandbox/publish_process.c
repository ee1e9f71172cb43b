#include "sandbox/publish_process.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "sandbox/egress_process.h"
#include "sandbox/mount_below.h"

#define DRAIN_MS 500 /* publish gives itself less */
#define CONFIG_MAX (1 << 20)

void publish_process_reset(struct publish_process *publish)
{
    *publish = (struct publish_process){
        .process.pidfd = -1, .alive = -1, .far_link = -1, .far_alive = -1, .ids.lock_fd = -1
    };
}

int publish_process_prepare(struct publish_process *publish, const struct plan *plan,
                            const struct features *features, int *ret_link, sbr_error *err)
{
    int link[2], alive[2];

    *ret_link = -1;
    if (!plan->publish.n)
        return 0;
    if (egress_choose_id(&publish->ids, features, err) < 0)
        return err->code;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
        return err_set_errno(err, "publish", "cannot make a link");
    *ret_link = link[0];
    publish->far_link = link[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, alive) < 0)
        return err_set_errno(err, "publish", "cannot make a link");
    publish->alive = alive[0];
    publish->far_alive = alive[1];
    return 0;
}

/* Writes the configuration in the order in which publish reads it. */
static int store_config(const struct plan *plan, const struct publish_listeners *listeners,
                        const struct ids *ids, sbr_error *err)
{
    const struct policy_filter *filter = &policy_find("publish")->filter;
    struct buf out;
    int fd = -1;

    buf_init(&out, CONFIG_MAX);
    buf_put_u32(&out, (uint32_t)listeners->n);
    for (size_t i = 0; i < listeners->n; i++) {
        uint32_t rule = listeners->items[i].rule;

        buf_put_u32(&out, rule);
        buf_put_u32(&out, listeners->published.rules[rule].inside);
    }
    buf_put_u64(&out, plan->limits.value[SBR_CPU_MILLIS]);
    buf_put_u32(&out, ids->host_uid); /* 0: publish keeps its user */
    buf_put_u32(&out, ids->host_gid);
    buf_put_bytes(&out, filter->insns, filter->len * sizeof(*filter->insns));
    buf_put_string(&out, plan->test_without);
    if (!out.failed)
        fd = fd_sealed_memory("publish", out.data, out.len, 0);
    buf_done(&out);
    return fd < 0 ? err_set_errno(err, "publish", "cannot store the ports") : fd;
}

static int share_page(struct publish_process *publish, sbr_error *err)
{
    scoped_fd int fd = memfd_create("publish-page", MFD_CLOEXEC);
    void *page = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, sizeof(*publish->page)) == 0)
        page = mmap(NULL, sizeof(*publish->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return err_set_errno(err, "publish", "cannot make a page for the counters");
    publish->page = page;
    return take_fd(fd);
}

static int spawn_publish(struct publish_process *publish, const int fds[PUBLISH_LISTENER],
                         const struct publish_listeners *listeners, sbr_error *err)
{
    struct spawn *spawn = publish->spawn = calloc(1, sizeof(*spawn));

    if (!spawn)
        return err_set_oom(err, "publish");
    spawn->helper = HELPER_PUBLISH;
    spawn->cgroup_fd = -1;
    for (spawn->n_fds = 0; spawn->n_fds < PUBLISH_LISTENER; spawn->n_fds++)
        spawn->fds[spawn->n_fds] = fds[spawn->n_fds];
    for (size_t i = 0; i < listeners->n; i++)
        spawn->fds[spawn->n_fds++] = listeners->items[i].fd;
    if (spawn_start(spawn, &publish->process, err) < 0)
        return err->code;
    log_debug("publish", "published ports are process %d", (int)publish->process.pid);
    return 0;
}

static void close_far_channels(struct publish_process *publish)
{
    scope_close_fd(&publish->far_link);
    scope_close_fd(&publish->far_alive);
    publish->far_link = publish->far_alive = -1;
}

int publish_process_start(struct publish_process *publish, const struct plan *plan,
                          const struct publish_listeners *listeners, sbr_error *err)
{
    scoped_fd int config = -1, page = -1;
    int r;

    if (!plan->publish.n)
        return 0;
    if ((config = store_config(plan, listeners, &publish->ids, err)) < 0 ||
        (page = share_page(publish, err)) < 0)
        return err->code;
    r = spawn_publish(publish,
                      (int[PUBLISH_LISTENER]){ publish->far_link, publish->far_alive, config,
                                               page },
                      listeners, err);
    close_far_channels(publish); /* our copies would hide the end of the peer from publish */
    return r;
}

void publish_process_stop(struct publish_process *publish)
{
    struct pollfd dead = { .fd = publish->process.pidfd, .events = POLLIN };
    siginfo_t info = { 0 };
    bool late;

    if (publish->process.pidfd < 0)
        return;
    shutdown(publish->alive, SHUT_WR);
    late = poll(&dead, 1, DRAIN_MS) != 1;
    if (late)
        syscall(SYS_pidfd_send_signal, publish->process.pidfd, SIGKILL, NULL, 0);
    waitid(P_PIDFD, (id_t)publish->process.pidfd, &info, WEXITED | __WALL);
    publish->died = !late && (info.si_code != CLD_EXITED || info.si_status != 0);
    ids_release(&publish->ids);
    scope_close_fd(&publish->process.pidfd);
    publish->process.pidfd = -1;
}

void publish_process_count(const struct publish_process *publish, struct publish *published)
{
    for (size_t i = 0; publish->page && i < published->n; i++) {
        published->rules[i].connections = publish->page->rules[i].connections;
        published->rules[i].bytes_in = publish->page->rules[i].bytes_in;
        published->rules[i].bytes_out = publish->page->rules[i].bytes_out;
    }
}

int publish_process_failure(const struct publish_process *publish, sbr_error *err)
{
    if (publish->page && publish->page->error.code) {
        page_error_read(&publish->page->error, err);
        return err->code;
    }
    return err_set(err, SBR_E_BUG, "publish",
                   "the process of the published ports ended before the program");
}

void publish_process_done(struct publish_process *publish)
{
    free(publish->spawn);
    if (publish->page)
        munmap(publish->page, sizeof(*publish->page));
    scope_close_fd(&publish->process.pidfd);
    scope_close_fd(&publish->alive);
    close_far_channels(publish);
    ids_release(&publish->ids);
    publish_process_reset(publish);
}
