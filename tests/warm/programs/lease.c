/* An attacker at the engine's socket: lease [--apart] SOCKET DIRECTORY
 *
 * It asks for a sandbox made of a template of its own, which has the host's DIRECTORY to write to and nothing that would
 * confine it, and lets a shell in it leave a mark there.  Says "GOT" or "NOT", and why.  With --apart it does so from
 * another user namespace, as whoever sits in a sandbox of the same user. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/plan.h"
#include "wire/control.h"
#include "wire/engine.h"

#define ALL_NAMESPACES 0x7e020000ull /* user, mount, pid, network, ipc, uts, cgroup */
#define ANSWER_MS 10000
#define ATTEMPTS 400
#define PAUSE_MS 25

static const struct policy_insn allow_all[] = { { 0x06, 0, 0, 0x7fff0000 } };
static const char *nothing[] = { "-", NULL };
static const char *script[] = { "/bin/sh", "-c", "echo mark > /host/mark; echo done", NULL };

static int give_up(const char *what)
{
    printf("NOT %s: %s\n", strerrorname_np(errno) ? strerrorname_np(errno) : "ERROR", what);
    return 0;
}

static void add(struct plan *plan, enum op_kind kind, const char *from, const char *to)
{
    struct plan_op op = { .kind = kind, .from = from, .to = to, .mode = 0755 };
    sbr_error ignored;

    if (kind == OP_BIND && !strcmp(to, "host"))
        op.flags = OP_WRITABLE;
    (void)plan_add_op(plan, op, &ignored);
}

static struct plan *make_plan(const char *directory)
{
    struct plan *plan = plan_new();

    plan->namespaces = ALL_NAMESPACES;
    plan->standby = STANDBY_SHELL;
    plan->inside_uid = plan->inside_gid = 1000;
    plan->hostname = "sandbox";
    plan->workdir = "/work";
    plan->scratch_bytes = 1 << 20;
    plan->scratch_inodes = 1000;
    plan->filters[plan->n_filters++] = (struct policy_filter){ allow_all, 1 };
    plan->argv = nothing;
    plan->env = nothing + 1;
    add(plan, OP_BIND, "/usr", "usr");
    add(plan, OP_SYMLINK, "usr/bin", "bin");
    add(plan, OP_SYMLINK, "usr/lib", "lib");
    add(plan, OP_SYMLINK, "usr/lib64", "lib64");
    add(plan, OP_DIR, NULL, "dev");
    add(plan, OP_PROC, NULL, "proc");
    add(plan, OP_SCRATCH, NULL, "work");
    add(plan, OP_SCRATCH, NULL, "tmp");
    add(plan, OP_SCRATCH, NULL, "dev/shm");
    add(plan, OP_BIND, directory, "host");
    return plan;
}

static int encoded(const struct plan *plan, struct buf *bytes)
{
    sbr_error err;

    buf_init(bytes, ENGINE_MAX_BLUEPRINT);
    if (plan_encode(plan, bytes, &err) < 0)
        return -1;
    return fd_sealed_memory("template", bytes->data, bytes->len, 0);
}

static void fill_request(struct engine_request *request, const struct buf *bytes)
{
    struct sha256 sum;

    *request = (struct engine_request){ .version = ENGINE_VERSION,
                                        .ask = ENGINE_LEASE,
                                        .policy = "default",
                                        .memory_bytes = 64 << 20,
                                        .has_blueprint = 1 };
    sha256_init(&sum);
    sha256_add_u64(&sum, 0);
    sha256_add_u64(&sum, 0);
    sha256_add(&sum, bytes->data, bytes->len);
    sha256_finish_hex(&sum, request->key);
}

static ssize_t answer(int fd, struct engine_reply *reply, int *fds, size_t *n)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    if (poll(&ready, 1, ANSWER_MS) != 1) {
        errno = ETIMEDOUT;
        return -1;
    }
    errno = 0;
    return fd_receive(fd, reply, sizeof(*reply), fds, n);
}

/* The program of the sandbox that was leased, which says that it is done. */
static int go(const struct plan *plan, const int *fds, const struct handover_msg *card)
{
    struct init_message message = { .order = ORDER_GO };
    struct plan late = *plan;
    struct pollfd ready = { .fd = fds[2], .events = POLLIN };
    struct buf bytes;
    char said[8] = "";
    int memory;

    late.standby = STANDBY_NONE;
    late.argv = script;
    late.n_ops = 0;
    memory = encoded(&late, &bytes);
    if ((card->given & 7) != 7 || fd_send(fds[0], &message, sizeof(message), &memory, 1) < 0)
        return give_up("the sandbox takes no program");
    if (poll(&ready, 1, ANSWER_MS) != 1 || read(fds[2], said, sizeof(said)) < 4)
        return give_up("the program says nothing");
    printf("GOT a sandbox of its own making\n");
    return 0;
}

/* The first answers are that it is being made. */
static int lease(int fd, const struct plan *plan)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    struct engine_request done = { .version = ENGINE_VERSION, .ask = ENGINE_DONE };
    struct engine_request request;
    struct engine_reply reply;
    struct buf bytes;
    int template = encoded(plan, &bytes), fds[FD_MAX_PASSED];
    size_t n;

    fill_request(&request, &bytes);
    for (int i = 0; i < ATTEMPTS; i++) {
        if (fd_send(fd, &request, sizeof(request), &template, 1) < 0)
            return give_up("nothing can be sent");
        if (answer(fd, &reply, fds, &n) != (ssize_t)sizeof(reply))
            return give_up("no answer");
        if (reply.answer == ENGINE_GRANT)
            return go(plan, fds, &reply.handover);
        if (reply.answer == ENGINE_REFUSED || strstr(reply.reason, "otherwise"))
            break;
        (void)fd_send(fd, &done, sizeof(done), NULL, 0);
        nanosleep(&pause, NULL); /* nobody tells when a sandbox is ready */
    }
    errno = EACCES;
    return give_up(reply.reason);
}

int main(int argc, char **argv)
{
    int apart = argc > 1 && !strcmp(argv[1], "--apart");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 3 + apart)
        return 2;
    if (apart && unshare(CLONE_NEWUSER) < 0)
        return give_up("no user namespace");
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[1 + apart]);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return give_up("cannot connect");
    return lease(fd, make_plan(argv[2 + apart]));
}
