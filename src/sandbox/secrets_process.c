#include "sandbox/secrets_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/secret_memory.h"
#include "plan/policy.h"
#include "sandbox/egress_process.h"
#include "wire/secrets.h"

#define END_MS 500
#define ANSWER_S 20 /* it starts in a few milliseconds, but on a busy machine */
#define ROOTS_MAX (1 << 20)
#define JAVA_STORE "/etc/ssl/certs/java/cacerts"

/* The roots of this machine: those that the caller's other programs use. */
static int read_roots(char **ret, size_t *ret_len, sbr_error *err)
{
    const char *const places[] = { getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt",
                                   "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem" };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        scoped_fd int fd =
            places[i] && places[i][0] ? open(places[i], O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;

        if (fd >= 0)
            return fd_read_text(fd, ROOTS_MAX, ret, ret_len, err);
        if (i == 0 && places[i] && places[i][0]) /* others might be trusted than the user chose */
            return err_set_errno(err, "secrets", "cannot read SSL_CERT_FILE, '%.100s'", places[i]);
    }
    return err_set(
        err, SBR_E_UNSUPPORTED, "secrets",
        "this machine has no certificates to verify hosts with; install ca-certificates, "
        "or set SSL_CERT_FILE");
}

static int store_config(const struct secrets_process *helper, const char *roots, size_t len,
                        const char *test_without, sbr_error *err)
{
    const struct policy_filter *filter = &policy_find("secrets")->filter;
    struct buf out;
    int fd = -1;

    buf_init(&out, 2 * ROOTS_MAX);
    buf_put_u32(&out, helper->ids.host_uid); /* 0: the helper keeps its user */
    buf_put_u32(&out, helper->ids.host_gid);
    buf_put_u32(&out, access(JAVA_STORE, F_OK) == 0);
    buf_put_bytes(&out, roots, len);
    buf_put_bytes(&out, filter->insns, filter->len * sizeof(*filter->insns));
    buf_put_string(&out, test_without);
    if (!out.failed)
        fd = fd_sealed_memory("secrets", out.data, out.len, 0);
    buf_done(&out);
    return fd < 0 ? err_set_errno(err, "secrets", "cannot store the configuration") : fd;
}

static int spawn_helper(struct secrets_process *helper, int config, sbr_error *err)
{
    const struct timeval patience = { .tv_sec = ANSWER_S };
    int link[2], alive[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
        return err_set_errno(err, "secrets", "cannot make a link");
    helper->link = link[0];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, alive) < 0) {
        close(link[1]);
        return err_set_errno(err, "secrets", "cannot make a link");
    }
    helper->alive = alive[0];
    (void)setsockopt(helper->alive, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(helper->alive, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    helper->spawn->helper = HELPER_SECRETS;
    helper->spawn->cgroup_fd = -1;
    helper->spawn->n_fds = N_SECRETS_FDS;
    helper->spawn->fds[SECRETS_LINK] = link[1];
    helper->spawn->fds[SECRETS_ALIVE] = alive[1];
    helper->spawn->fds[SECRETS_CONFIG] = config;
    r = spawn_start(helper->spawn, &helper->process, err);
    if (r == 0)
        log_debug("secrets", "the secrets are process %d", (int)helper->process.pid);
    return r;
}

/* The far ends belong to the helper alone once it has executed: our copies would hide its end. */
static void close_far(const struct secrets_process *helper)
{
    for (int i = SECRETS_LINK; i <= SECRETS_ALIVE; i++)
        if (helper->spawn->n_fds)
            close(helper->spawn->fds[i]);
}

static int send_secrets(const struct secrets_process *helper, const struct secrets *secrets)
{
    struct buf out;
    int r;

    buf_init(&out, SECRETS_MESSAGE_MAX);
    buf_reserve_all(&out); /* growing would leave copies behind */
    secrets_encode(secrets, &out);
    r = out.failed ? -1 : fd_message_send(helper->alive, out.data, out.len);
    explicit_bzero(out.data, out.len);
    buf_done(&out);
    return r;
}

/* `end` may be NULL. */
static int keep_text(struct secrets_process *helper, size_t i, const void *data, size_t len,
                     const void *more, size_t more_len)
{
    char *text = malloc(len + more_len + 2);
    size_t n = len;

    if (!text)
        return -1;
    if (len)
        memcpy(text, data, len);
    if (len && more_len && text[len - 1] != '\n')
        text[n++] = '\n';
    if (more_len)
        memcpy(text + n, more, more_len);
    n += more_len;
    text[n] = '\0';
    helper->texts[i] = text;
    (&helper->trust.bundle)[i] = (struct plan_text){ text, n };
    return 0;
}

static int take_trust(struct secrets_process *helper, const char *roots, size_t roots_len,
                      sbr_error *err)
{
    struct buf_reader in = { 0 };
    char *answer = fd_message_receive(helper->alive, SECRETS_MESSAGE_MAX, &in.len);
    size_t pem_len, java_len;
    const void *pem, *java;
    int r = 0;

    if (!answer)
        return err_set(err, SBR_E_SYSTEM, "secrets",
                       "the helper for secrets does not start; is OpenSSL 3 (libssl3) installed?");
    in.data = answer;
    if (buf_reader_u32(&in)) {
        const sbr_error *why = buf_reader_bytes(&in, &pem_len);

        r = why && pem_len == sizeof(*why) ? (*err = *why).code
                                           : err_set(err, SBR_E_BUG, "secrets", "no reason");
    } else {
        pem = buf_reader_bytes(&in, &pem_len);
        java = buf_reader_bytes(&in, &java_len);
        if (in.failed || !pem_len || keep_text(helper, 0, roots, roots_len, pem, pem_len) < 0 ||
            keep_text(helper, 1, pem, pem_len, NULL, 0) < 0 ||
            keep_text(helper, 2, java, java_len, NULL, 0) < 0)
            r = err_set(err, SBR_E_SYSTEM, "secrets", "cannot take the helper's certificate");
    }
    secret_memory_free(answer);
    return r;
}

int secrets_process_start(struct secrets_process *helper, const struct secrets *secrets,
                          const struct features *features, const char *test_without, sbr_error *err)
{
    scoped_free char *roots = NULL;
    scoped_fd int config = -1;
    size_t len = 0;
    int r;

    *helper = (struct secrets_process){
        .started = true, .process.pidfd = -1, .alive = -1, .link = -1, .ids.lock_fd = -1
    };
    helper->spawn = calloc(1, sizeof(*helper->spawn));
    if (!helper->spawn)
        return err_set_oom(err, "secrets");
    if (egress_choose_id(&helper->ids, features, err) < 0 || read_roots(&roots, &len, err) < 0)
        return err->code;
    config = store_config(helper, roots, len, test_without, err);
    if (config < 0)
        return err->code;
    r = spawn_helper(helper, config, err);
    close_far(helper);
    if (r < 0)
        return r;
    if (send_secrets(helper, secrets) < 0 && errno != EPIPE)
        return err_set_errno(err, "secrets", "cannot hand the secrets over");
    return take_trust(helper, roots, len, err);
}

void secrets_process_stop(struct secrets_process *helper)
{
    struct pollfd dead = { .fd = helper->process.pidfd, .events = POLLIN };
    siginfo_t info;

    if (!helper->started)
        return;
    scope_close_fd(&helper->link);
    scope_close_fd(&helper->alive);
    if (helper->process.pidfd >= 0) {
        if (poll(&dead, 1, END_MS) != 1)
            syscall(SYS_pidfd_send_signal, helper->process.pidfd, SIGKILL, NULL, 0);
        waitid(P_PIDFD, (id_t)helper->process.pidfd, &info, WEXITED | __WALL);
    }
    scope_close_fd(&helper->process.pidfd);
    ids_release(&helper->ids);
    for (size_t i = 0; i < ARRAY_LEN(helper->texts); i++)
        free(helper->texts[i]);
    free(helper->spawn);
    *helper = (struct secrets_process){ 0 };
}
