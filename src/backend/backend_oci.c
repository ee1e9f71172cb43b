/* `RUNTIME run` stays in the foreground: it is the parent of the guest, reaps it, and removes the
 * container when the guest ends.  It gets no stream of the program's; what it writes are its own
 * words, which tell its failures from the program's.
 *
 * When our own process is killed, init sees the end of its control socket and ends, then the guest,
 * then the runtime.  The bundle stays, and the next run removes it. */
#include "backend/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend_guest.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"

#define END_MS 10000         /* a runtime that has not ended by then is killed */
#define END_SOON_MS 300      /* the same when the run was cancelled */
#define WORDS_MAX 240        /* of them in an error */
#define WORDS_ROOM (1 << 20) /* that a runtime may write */
#define V2_ROOT "/sys/fs/cgroup"

struct oci {
    char path[PATH_MAX];
    const char *name; /* the last part of the path */
    struct backend_guest guest;
    struct process runtime;
    int words; /* what the runtime wrote */
    bool rootless;
};

/* Runtimes by the beginning of their name: an option of their own, and where to get them. */
static const struct {
    const char *name, *option, *from;
} known[] = {
    { "crun", "--cgroup-manager=disabled", "apt install crun" }, /* the run's cgroup is ours */
    { "runc", NULL, "apt install runc" },
    { "runsc", "--ignore-cgroups",
      "Debian has no package of it, https://gvisor.dev/docs/user_guide/install/ says how" },
};

static int no_runtime(const char *runtime, sbr_error *err)
{
    const char *from = "install it, or name it by its path, as in oci:/usr/bin/crun";

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (!strcmp(runtime, known[i].name))
            from = known[i].from;
    return err_set(err, SBR_E_UNSUPPORTED, "backend",
                   "there is no container runtime '%.100s' here%s; %s", runtime,
                   runtime[0] == '/' ? "" : ", in no directory of PATH", from);
}

/* A path that was named is a mistake of the caller's when it is no program. */
static int check_program(const char *path, sbr_error *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return no_runtime(path, err);
    if (S_ISREG(st.st_mode) && access(path, X_OK) == 0)
        return 0;
    return err_set(err, SBR_E_INVALID, "backend", "the container runtime '%.100s' is %s", path,
                   S_ISREG(st.st_mode) ? "not executable for this user; see its mode"
                                       : "no file; name the program itself");
}

static int find_runtime(const char *runtime, struct oci *oci, sbr_error *err)
{
    const char *path = getenv("PATH");
    scoped_free char *dirs = text_format("%s:" PLAN_USUAL_PATH, path ? path : "");

    if (!dirs)
        return err_set_oom(err, "backend");
    if (runtime[0] == '/')
        snprintf(oci->path, sizeof(oci->path), "%s", runtime);
    for (char *rest = dirs, *dir; runtime[0] != '/' && (dir = strsep(&rest, ":"));) {
        snprintf(oci->path, sizeof(oci->path), "%s/%s", dir, runtime);
        if (dir[0] == '/' && access(oci->path, X_OK) == 0)
            break;
        oci->path[0] = '\0';
    }
    oci->name = strrchr(oci->path, '/');
    if (!oci->name)
        return no_runtime(runtime, err);
    oci->name++;
    return check_program(oci->path, err);
}

static int write_bundle(struct oci *oci, const struct plan *plan, const struct ids *ids,
                        sbr_error *err)
{
    static struct backend_mount no_mounts[1];
    struct backend_mount *mounts = calloc(BACKEND_MAX_MOUNTS, sizeof(*mounts));
    scoped_free char *share = text_format("%s/" BACKEND_SHARE, oci->guest.dir);
    scoped_free char *config = NULL;
    scoped_fd int fd = -1;
    size_t n = 0;
    int r = mounts && share ? backend_bundle_mounts(plan, mounts, &n, err)
                            : err_set_oom(err, "backend");

    if (r == 0)
        config = backend_bundle_config(plan, ids, n ? mounts : no_mounts, n, share, oci->rootless);
    free(mounts);
    if (r < 0)
        return r;
    if (!config)
        return err_set_oom(err, "backend");
    fd = openat(oci->guest.dir_fd, "config.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (mkdirat(oci->guest.dir_fd, "rootfs", 0755) < 0 ||
        fchmodat(oci->guest.dir_fd, "rootfs", 0755, 0) < 0 || fd < 0 ||
        fd_write_all(fd, config, strlen(config)) < 0)
        return err_set_errno(err, "backend", "cannot write the bundle in '%.200s'", oci->guest.dir);
    return 0;
}

/* crun refuses a machine on which cgroup v1 and v2 both have controllers, even when it is told to
 * make no cgroup.  So it sees none, in a mount namespace of its own. */
static int hide_cgroups(bool rootless)
{
    char uid[64], gid[64];

    if (access(V2_ROOT "/cgroup.controllers", F_OK) == 0)
        return 0;
    snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
    snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
    if (unshare(CLONE_NEWNS | (rootless ? CLONE_NEWUSER : 0)) < 0)
        return -1;
    if (rootless && (fd_write_small(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
                     fd_write_small(AT_FDCWD, "/proc/self/uid_map", uid) < 0 ||
                     fd_write_small(AT_FDCWD, "/proc/self/gid_map", gid) < 0))
        return -1;
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return -1;
    return mount("tmpfs", V2_ROOT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* In the child: after fork, with the caller's memory but none of its threads. */
static void __attribute__((noreturn)) execute(const struct oci *oci, char *const *argv)
{
    static const char *const environment[] = { "PATH=" PLAN_USUAL_PATH, NULL };
    /* NOLINTNEXTLINE(android-cloexec-open): it may be the runtime's stdin itself */
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    if (dup2(null, STDIN_FILENO) < 0 || dup2(oci->words, STDOUT_FILENO) < 0 ||
        dup2(oci->words, STDERR_FILENO) < 0)
        _exit(127); /* lint-ok: _exit: a child without streams for the runtime */
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
    if (!strncmp(oci->name, "crun", 4) && hide_cgroups(oci->rootless) < 0)
        dprintf(STDERR_FILENO, "cannot hide the cgroups of this machine: %s\n", strerror(errno));
    execve(oci->path, argv, (char *const *)environment);
    dprintf(STDERR_FILENO, "cannot execute it: %s\n", strerror(errno));
    _exit(127); /* lint-ok: _exit: a child that could not execute the runtime */
}

static int run_runtime(struct oci *oci, sbr_error *err)
{
    scoped_free char *root = text_format("%s/state", oci->guest.dir);
    char *argv[12];
    size_t n = 0;
    pid_t pid;

    oci->words = memfd_create("runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* A runtime that writes without end gets an error, not all memory. */
    if (!root || oci->words < 0 || ftruncate(oci->words, WORDS_ROOM) < 0 ||
        fcntl(oci->words, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
        return err_set_oom(err, "backend");
    argv[n++] = oci->path;
    argv[n++] = (char *)"--root";
    argv[n++] = root;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].option && !strncmp(oci->name, known[i].name, strlen(known[i].name)))
            argv[n++] = (char *)known[i].option;
    argv[n++] = (char *)"run";
    argv[n++] = (char *)"--bundle";
    argv[n++] = oci->guest.dir;
    argv[n++] = oci->guest.id;
    argv[n] = NULL;
    pid = fork();
    if (pid == 0)
        execute(oci, argv);
    if (pid < 0)
        return err_set_errno(err, "backend", "cannot start '%.100s'", oci->path);
    oci->runtime.pid = pid;
    oci->runtime.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (oci->runtime.pidfd < 0)
        return err_set_errno(err, "backend", "cannot watch '%.100s'", oci->path);
    return 0;
}

/* How it ended, for a runtime that says nothing. */
static void describe_end(const struct oci *oci, char *text, size_t size)
{
    siginfo_t info = { 0 };

    if (waitid(P_PID, (id_t)oci->runtime.pid, &info, WEXITED | WNOWAIT | __WALL) < 0)
        snprintf(text, size, "it gave no reason");
    else
        snprintf(text, size, "it ended %s %d and gave no reason",
                 info.si_code == CLD_EXITED ? "with status" : "by signal", info.si_status);
}

/* The end of what it wrote, on one line.  It writes at the offset that we share. */
static int runtime_error(const struct oci *oci, sbr_error *err)
{
    char words[WORDS_MAX + 1], said[300];
    off_t len = lseek(oci->words, 0, SEEK_CUR);
    off_t from = len > WORDS_MAX ? len - WORDS_MAX : 0;
    ssize_t n = pread(oci->words, words, (size_t)(len - from), from);

    while (n > 0 && words[n - 1] == '\n')
        n--;
    words[n > 0 ? n : 0] = '\0';
    for (char *at = words; (at = strchr(at, '\n'));)
        *at = ' ';
    text_copy_visibly(said, sizeof(said), words, strlen(words));
    if (!said[0])
        describe_end(oci, said, sizeof(said));
    return err_set(err, SBR_E_SYSTEM, "backend", "%.60s could not make the container: %s%.250s",
                   oci->name, from ? "..." : "", said);
}

static void await_runtime(struct oci *oci)
{
    struct pollfd end = { .fd = oci->runtime.pidfd, .events = POLLIN };
    bool is_cancelled = oci->runtime.pid > 0 && !oci->guest.pid &&
                        (oci->guest.is_late || !backend_guest_is_wanted(&oci->guest.wait));
    siginfo_t info;

    if (oci->runtime.pid <= 0)
        return;
    if (is_cancelled && oci->runtime.pidfd >= 0) /* it removes what it has made so far */
        kill(oci->runtime.pid, SIGTERM);
    if (oci->runtime.pidfd < 0 || poll(&end, 1, is_cancelled ? END_SOON_MS : END_MS) <= 0) {
        log_info("backend", "%s did not end in time and is killed", oci->name);
        if (oci->guest.pid > 0)
            kill(oci->guest.pid, SIGKILL);
        kill(-oci->runtime.pid, SIGKILL); /* its session, with helpers of its own */
        kill(oci->runtime.pid, SIGKILL);
    }
    waitid(P_PID, (id_t)oci->runtime.pid, &info, WEXITED | __WALL);
    oci->runtime.pid = 0;
}

static void free_container(struct oci *oci)
{
    backend_guest_close(&oci->guest);
    scope_close_fd(&oci->runtime.pidfd);
    scope_close_fd(&oci->words);
    free(oci);
}

static void oci_kill(const struct sandbox *box)
{
    const struct oci *oci = box->container;

    if (oci->guest.pid > 0)
        kill(oci->guest.pid, SIGKILL);
}

static void oci_close(struct sandbox *box)
{
    struct oci *oci = box->container;

    if (!oci)
        return;
    if (box->init.pidfd < 0 && oci->runtime.pid > 0 && oci->guest.pid > 0)
        kill(oci->guest.pid, SIGKILL); /* it waits for nobody */
    await_runtime(oci);
    free_container(oci);
    box->container = NULL;
}

static int oci_open(struct sandbox *box, const struct plan *plan, const struct far_channels *far,
                    sbr_error *err)
{
    struct oci *oci = box->container;
    int r = backend_guest_open(&oci->guest, err);

    if (r == 0)
        r = write_bundle(oci, plan, &box->ids, err);
    if (r == 0)
        r = run_runtime(oci, err);
    if (r == 0) {
        r = backend_guest_await(&oci->guest, oci->runtime.pidfd, box, plan, far, err);
        if (r == 0)
            r = runtime_error(oci, err);
    }
    return r < 0 ? r : 0;
}

static const struct sandbox_host oci_host = { oci_open, oci_kill, oci_close };

int backend_oci_start(const char *runtime, struct sandbox *box, const struct plan *plan,
                      const struct sandbox_means *means, sbr_error *err)
{
    struct oci *oci = calloc(1, sizeof(*oci));

    if (!oci)
        return err_set_oom(err, "backend");
    oci->rootless = !means->features->privileged;
    oci->guest.wait = means->wait;
    oci->words = oci->runtime.pidfd = oci->guest.dir_fd = oci->guest.listener = -1;
    oci->guest.parent.fd = -1;
    if (find_runtime(runtime, oci, err) < 0) {
        free_container(oci);
        return err->code;
    }
    oci->guest.maker = oci->name;
    return sandbox_start_on(box, plan, means, &oci_host, oci, err);
}
