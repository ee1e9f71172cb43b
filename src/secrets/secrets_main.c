/* sandbox-run-secrets: puts the user's secrets into requests on their way out, and takes them out
 * of what comes back.
 *
 * Runs outside, once for each stage with secrets.  Egress decides and dials as for every run; for a
 * host with secrets it gives the program's end of the connection to this process, with a socket
 * whose bytes it carries to the host.
 *
 *   Privilege:   none; the user's own, or a user without rights where that would be root.
 *   Descriptors: enum secrets_fd, pairs of sockets from egress.
 *   (1) It is confined before it has a secret, and before it reads a byte of program or host.
 *   (2) It can make no socket and open no file: who takes it over reaches only the hosts that
 *       egress connected it to.
 *   (3) The keys that it makes, and the values, are in memory that is not swapped or dumped.
 *   (4) It ends when egress or the supervisor does. */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/helper_confine.h"
#include "base/secret_memory.h"
#include "secrets/news.h"
#include "secrets/tls.h"
#include "secrets/tunnel.h"

#define SECURE_HEAP (256 << 10)
#define SECURE_LEAST 32

struct config {
    uint32_t uid, gid;
    bool java;
    const char *roots;
    size_t roots_len;
    const void *filter;
    size_t filter_size;
    const char *test_without;
};

/* The helper exits only here. */
static void __attribute__((noreturn)) secrets_exit(int status)
{
    _exit(status);
}

static int read_config(struct config *ret, sbr_error *err)
{
    struct buf_reader in = { 0 };
    struct stat st;
    const void *roots;

    if (fstat(SECRETS_CONFIG, &st) < 0 || st.st_size == 0)
        return err_set(err, SBR_E_BUG, "secrets", "there is no configuration");
    in.len = (size_t)st.st_size;
    in.data = mmap(NULL, in.len, PROT_READ, MAP_PRIVATE, SECRETS_CONFIG, 0);
    if (in.data == MAP_FAILED)
        return err_set_errno(err, "secrets", "cannot map the configuration");
    close(SECRETS_CONFIG);
    ret->uid = buf_reader_u32(&in);
    ret->gid = buf_reader_u32(&in);
    ret->java = buf_reader_u32(&in) != 0;
    roots = buf_reader_bytes(&in, &ret->roots_len);
    ret->roots = roots;
    ret->filter = buf_reader_bytes(&in, &ret->filter_size);
    ret->test_without = buf_reader_string(&in);
    return in.failed ? err_set(err, SBR_E_BUG, "secrets", "the configuration does not read well")
                     : 0;
}

/* For tests that show what confinement prevents. */
static bool stays_free(const struct config *config)
{
#ifdef SBR_TEST_HOOKS
    return config->test_without && strstr(config->test_without, "secrets-confine");
#else
    (void)config;
    return false;
#endif
}

/* OpenSSL reads no configuration of the host's: there may be a module named in it. */
static int prepare(struct helper *helper, const struct config *config, sbr_error *err)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    bool confined = !stays_free(config);

    (void)sigaction(SIGPIPE, &ignore, NULL);
    link_init(&helper->tunnels);
    if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL))
        return err_set(err, SBR_E_SYSTEM, "secrets", "cannot set TLS up");
    (void)CRYPTO_secure_malloc_init(SECURE_HEAP, SECURE_LEAST); /* keys are kept there */
    if (confined && helper_confine_process(config->uid, config->gid, NULL, err) < 0)
        return err->code;
    if (loop_init(&helper->events, "secrets", err) < 0)
        return err->code;
    return confined ? helper_confine_calls(config->filter, config->filter_size, err) : 0;
}

static int receive_secrets(struct helper *helper, sbr_error *err)
{
    struct buf_reader in = { 0 };
    char *data = fd_message_receive(SECRETS_ALIVE, SECRETS_MESSAGE_MAX, &in.len);
    int r;

    if (!data)
        secrets_exit(0); /* there will be no run */
    in.data = data;
    r = secrets_decode(&in, &helper->secrets, err);
    secret_memory_free(data);
    return r;
}

/* Two texts: the certificate, and a trust store for Java or nothing. */
static int send_trust(const struct helper *helper, const struct config *config, sbr_error *err)
{
    struct buf out, java;
    int r;

    buf_init(&out, SECRETS_MESSAGE_MAX);
    buf_init(&java, SECRETS_MESSAGE_MAX / 2);
    buf_put_u32(&out, 0); /* no error */
    authority_put_pem(&helper->authority, &java);
    buf_put_bytes(&out, java.data, java.len);
    java.len = 0;
    if (config->java)
        authority_put_java(&helper->authority, config->roots, config->roots_len, &java);
    buf_put_bytes(&out, java.data, java.len);
    r = !out.failed && !java.failed && fd_message_send(SECRETS_ALIVE, out.data, out.len) == 0
            ? 0
            : err_set_errno(err, "secrets", "cannot hand out the certificate");
    buf_done(&java);
    buf_done(&out);
    return r;
}

static void __attribute__((noreturn)) fail(const sbr_error *err)
{
    struct buf out;

    buf_init(&out, SECRETS_MESSAGE_MAX);
    buf_put_u32(&out, 1);
    buf_put_bytes(&out, err, sizeof(*err));
    if (!out.failed)
        (void)fd_message_send(SECRETS_ALIVE, out.data, out.len);
    secrets_exit(1);
}

static void egress_says(void *context, uint32_t events)
{
    struct helper *helper = context;
    struct secrets_connection connection;
    int fds[FD_MAX_PASSED];
    size_t n;
    ssize_t size = fd_receive(SECRETS_LINK, &connection, sizeof(connection), fds, &n);

    (void)events;
    if (size == (ssize_t)sizeof(connection) && n == 2 && connection.way < N_SECRETS_WAYS &&
        memchr(connection.name, '\0', sizeof(connection.name))) {
        tunnel_start(helper, &connection, fds[0], fds[1]);
        return;
    }
    while (n > 0)
        close(fds[--n]);
    if (size == 0 || (size < 0 && errno != EAGAIN))
        helper->ending = true;
}

static void supervisor_says(void *context, uint32_t events)
{
    struct helper *helper = context;

    (void)events;
    helper->ending = true;
}

static void serve(struct helper *helper)
{
    while (!helper->ending) {
        uint64_t now_us = clock_now_us(), next_us = tunnel_tick(helper, now_us);
        uint64_t wait_us =
            next_us == UINT64_MAX ? LOOP_FOREVER : ((next_us - now_us) / 1000 + 1) * 1000;

        if (loop_turn(&helper->events, wait_us) < 0)
            return;
        news_report(helper);
    }
}

int main(void)
{
    static struct helper helper;
    struct loop_watch alive = loop_watch_of(SECRETS_ALIVE, supervisor_says, &helper);
    struct config config = { 0 };
    sbr_error err;

    if (read_config(&config, &err) < 0 || prepare(&helper, &config, &err) < 0 ||
        receive_secrets(&helper, &err) < 0 ||
        authority_make(&helper.authority, &helper.secrets, &err) < 0 ||
        tls_prepare(&helper, &err) < 0 || send_trust(&helper, &config, &err) < 0)
        fail(&err);
    tls_trust(&helper, config.roots, config.roots_len);
    if (helper.secrets.roots)
        tls_trust(&helper, helper.secrets.roots, helper.secrets.roots_len);
    helper.link_watch = loop_watch_of(SECRETS_LINK, egress_says, &helper);
    if (host_watch_all(&helper) < 0 || loop_add(&helper.events, &helper.link_watch, EPOLLIN) < 0 ||
        loop_add(&helper.events, &alive, EPOLLIN | EPOLLRDHUP) < 0)
        secrets_exit(1);
    helper.started_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
    serve(&helper);
    secrets_done(&helper.secrets);
    secrets_exit(0);
}
