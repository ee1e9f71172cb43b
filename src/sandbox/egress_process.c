#include "sandbox/egress_process.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define DRAIN_MS 500 /* egress gives itself less */
#define LEARN_MS 2000
#define CONFIG_MAX (1 << 20)

void egress_reset(struct egress *egress)
{
    *egress = (struct egress){ .process.pidfd = -1,
                               .alive = -1,
                               .far_link = -1,
                               .far_alive = -1,
                               .secrets_link = -1,
                               .ids.lock_fd = -1 };
}

/* Egress does not need root's rights.  Root of a user namespace that maps no other user is the user
 * that made it. */
int egress_choose_id(struct ids *ids, const struct features *features, sbr_error *err)
{
    int r = 0;

    if (features->privileged)
        r = ids_take(ids, features, err);
    if (r == SBR_E_BUSY || (!features->privileged && features->is_host_root)) {
        *ids =
            (struct ids){ .host_uid = EGRESS_FIXED_ID, .host_gid = EGRESS_FIXED_ID, .lock_fd = -1 };
        r = 0;
    }
    return r;
}

int egress_take_id(struct egress *egress, const struct plan *plan, const struct features *features,
                   sbr_error *err)
{
    return network_goes_outside(plan->network) ? egress_choose_id(&egress->ids, features, err) : 0;
}

/* Writes the configuration in the order in which egress reads it. */
static int store_config(const struct plan *plan, const struct ids *ids, int *ret, sbr_error *err)
{
    const struct policy_filter *filter = &policy_find("egress")->filter;
    struct buf out;
    int fd = -1;

    buf_init(&out, CONFIG_MAX);
    network_encode(&plan->egress, &out);
    buf_put_u32(&out, plan->has_secrets);
    network_encode(&plan->handed, &out);
    network_proxy_encode(&plan->proxy, &out);
    buf_put_u64(&out, plan->limits.value[SBR_CONNECTIONS]);
    buf_put_u64(&out, plan->limits.value[SBR_NETWORK_IN]);
    buf_put_u64(&out, plan->limits.value[SBR_NETWORK_OUT]);
    buf_put_u64(&out, plan->limits.value[SBR_CPU_MILLIS]);
    buf_put_u32(&out, ids->host_uid); /* 0: egress keeps its user */
    buf_put_u32(&out, ids->host_gid);
    buf_put_bytes(&out, filter->insns, filter->len * sizeof(*filter->insns));
    buf_put_string(&out, plan->test_without);
    if (!out.failed)
        fd = fd_sealed_memory("egress", out.data, out.len, 0);
    buf_done(&out);
    if (fd < 0)
        return err_set_errno(err, "egress", "cannot store the rules");
    *ret = fd;
    return 0;
}

static int share_page(struct egress *egress, int *ret, sbr_error *err)
{
    scoped_fd int fd = memfd_create("egress-page", MFD_CLOEXEC);
    void *page;

    if (fd < 0 || ftruncate(fd, sizeof(*egress->page)) < 0)
        return err_set_errno(err, "egress", "cannot make a page for the counters");
    page = mmap(NULL, sizeof(*egress->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return err_set_errno(err, "egress", "cannot map the counters");
    egress->page = page;
    *ret = take_fd(fd);
    return 0;
}

static int spawn_egress(struct egress *egress, const int fds[N_EGRESS_FDS], sbr_error *err)
{
    egress->spawn = calloc(1, sizeof(*egress->spawn));
    if (!egress->spawn)
        return err_set_oom(err, "egress");
    egress->spawn->helper = HELPER_EGRESS;
    egress->spawn->cgroup_fd = -1;
    egress->spawn->n_fds = N_EGRESS_FDS;
    memcpy(egress->spawn->fds, fds, N_EGRESS_FDS * sizeof(*fds));
    if (egress->secrets_link >= 0)
        egress->spawn->fds[egress->spawn->n_fds++] = egress->secrets_link;
    if (spawn_start(egress->spawn, &egress->process, err) < 0)
        return err->code;
    log_debug("egress", "egress is process %d", (int)egress->process.pid);
    return 0;
}

int egress_prepare(struct egress *egress, const struct plan *plan, int *ret_link, sbr_error *err)
{
    int link[2], alive[2];

    *ret_link = -1;
    if (!network_goes_outside(plan->network))
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
        return err_set_errno(err, "egress", "cannot make a link");
    *ret_link = link[0];
    egress->far_link = link[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, alive) < 0)
        return err_set_errno(err, "egress", "cannot make a link");
    egress->alive = alive[0];
    egress->far_alive = alive[1];
    return 0;
}

static void close_far_channels(struct egress *egress)
{
    scope_close_fd(&egress->far_link);
    scope_close_fd(&egress->far_alive);
    egress->far_link = egress->far_alive = -1;
}

int egress_start(struct egress *egress, const struct plan *plan, sbr_error *err)
{
    scoped_fd int config = -1, page = -1;
    int r;

    if (!network_goes_outside(plan->network))
        return 0;
    if (store_config(plan, &egress->ids, &config, err) < 0 || share_page(egress, &page, err) < 0)
        return err->code;
    r = spawn_egress(egress,
                     (int[N_EGRESS_FDS]){ egress->far_link, egress->far_alive, config, page }, err);
    close_far_channels(egress); /* our copies would hide the end of the peer from egress */
    return r;
}

int egress_decide(struct egress *egress, enum egress_order order, const struct host_rule *rule,
                  sbr_error *err)
{
    struct network more = { .mode = NETWORK_ALLOW,
                            .rules = (struct host_rule *)rule,
                            .n_rules = 1 };
    struct pollfd answers = { .fd = egress->alive, .events = POLLIN };
    uint8_t learned = 0;
    struct buf out;
    bool sent;

    buf_init(&out, CONFIG_MAX);
    buf_put_u32(&out, order);
    network_encode(&more, &out);
    sent = !out.failed &&
           send(egress->alive, out.data, out.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)out.len;
    buf_done(&out);
    if (!sent || poll(&answers, 1, LEARN_MS) != 1 ||
        recv(egress->alive, &learned, sizeof(learned), MSG_DONTWAIT) != sizeof(learned))
        return err_set(err, SBR_E_SYSTEM, "egress", "the way out does not answer; ask again");
    if (!learned)
        return err_set(err, SBR_E_INVALID, "egress",
                       "the way out has no room for another rule; the most are %d",
                       NETWORK_MAX_RULES);
    if (order == EGRESS_ALLOW)
        (void)!string_list_add(&egress->granted, rule->text, err); /* only reports need it */
    return 0;
}

void egress_stop(struct egress *egress)
{
    struct pollfd dead = { .fd = egress->process.pidfd, .events = POLLIN };
    siginfo_t info = { 0 };
    bool late;

    if (egress->process.pidfd < 0)
        return;
    shutdown(egress->alive, SHUT_WR);
    late = poll(&dead, 1, DRAIN_MS) != 1;
    if (late)
        syscall(SYS_pidfd_send_signal, egress->process.pidfd, SIGKILL, NULL, 0);
    waitid(P_PIDFD, (id_t)egress->process.pidfd, &info, WEXITED | __WALL);
    egress->died = !late && (info.si_code != CLD_EXITED || info.si_status != 0);
    ids_release(&egress->ids);
    scope_close_fd(&egress->process.pidfd);
    egress->process.pidfd = -1;
}

void egress_done(struct egress *egress)
{
    free(egress->spawn);
    string_list_done(&egress->granted);
    if (egress->page)
        munmap(egress->page, sizeof(*egress->page));
    scope_close_fd(&egress->process.pidfd);
    scope_close_fd(&egress->alive);
    close_far_channels(egress);
    ids_release(&egress->ids);
    egress_reset(egress);
}
