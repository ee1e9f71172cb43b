#include "session/session_program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/request.h"
#include "plan/language_file.h"
#include "plan/policy_own.h"
#include "session/session_entry.h"

#define ENCODED_MAX (REQUEST_MAX_BYTES * 3)
#define PATH_SIZE 4200

/* The file descriptors of the new program. */
enum { FD_STATE = 3, FD_DIR, FD_LOCK, FD_READY, FD_END };

static bool is_our_program; /* this process executes the program itself */

static void put_languages(struct buf *out)
{
    const struct language *language;

    for (size_t i = 0; (language = language_added_at(i)) != NULL; i++) {
        buf_put_string(out, language->name);
        buf_put_string(out, language->other_binary ? language->binaries.at[0] : NULL);
        buf_put_string(out, language->file);
    }
    buf_put_string(out, NULL);
}

static int add_languages(struct buf_reader *in, sbr_error *err)
{
    const char *name, *binary, *file;

    while ((name = buf_reader_string(in)) != NULL) {
        const struct language *language;
        int r;

        binary = buf_reader_string(in);
        file = buf_reader_string(in);
        if (binary)
            r = language_resolve(name, &language, err) < 0
                    ? err->code
                    : language_file_add_binary(language, binary, err);
        else
            r = file
                    ? language_file_add(file, err)
                    : err_set(err, SBR_E_NOT_FOUND, "language", "%.60s has no file any more", name);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_policy(struct buf_reader *in, sbr_error *err)
{
    const char *path = buf_reader_string(in);
    const struct policy *policy;

    return path ? policy_own_add(path, &policy, err) : 0;
}

static void encode(const struct session *s, struct buf *out)
{
    buf_put_u32(out, sbr_version());
    buf_put_string(out, s->dir.id);
    buf_put_bytes(out, &s->bounds, sizeof(s->bounds));
    buf_put_string(out, s->spare.key);
    buf_put_u32(out, s->tells_changes);
    put_languages(out);
    buf_put_string(out, policy_own_path(s->request.policy));
    request_codec_encode(&s->request, out);
}

static int other_version(sbr_error *err)
{
    return err_set(err, SBR_E_UNSUPPORTED, "session",
                   "the program `sandbox-run` is of another version than its library; install both "
                   "from the same release");
}

static int decode(struct buf_reader *in, struct session *ret, sbr_error *err)
{
    const char *id, *key;
    sbr_request *req = NULL; /* as long as the process */
    const void *bounds;
    size_t len;

    if (buf_reader_u32(in) != sbr_version() || !(id = buf_reader_string(in)))
        return other_version(err);
    bounds = buf_reader_bytes(in, &len);
    if (!bounds || len != sizeof(ret->bounds) || !(key = buf_reader_string(in)))
        return other_version(err);
    snprintf(ret->dir.id, sizeof(ret->dir.id), "%s", id);
    memcpy(&ret->bounds, bounds, len);
    snprintf(ret->spare.key, sizeof(ret->spare.key), "%s", key);
    ret->tells_changes = buf_reader_u32(in);
    if (add_languages(in, err) < 0 || add_policy(in, err) < 0 ||
        request_codec_decode(in, &req, err) < 0)
        return err->code;
    ret->request = *req;
    return language_resolve(req->language, &ret->language, err);
}

/* The directory of the library, or of the program that contains it. */
static bool find_library(char *dir, size_t size)
{
    char *slash;
    Dl_info found;

    if (!dladdr((const void *)&is_our_program, &found) || !found.dli_fname || /* NOLINT: no call */
        !realpath(found.dli_fname, dir) || strlen(dir) >= size)
        return false;
    slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

static bool find_beside(const char *dir, char path[PATH_SIZE])
{
    static const char *const places[] = {
        "sandbox-run-full",
        "../libexec/sandbox-run/sandbox-run-full",
        "../../libexec/sandbox-run/sandbox-run-full",
        "../sandbox-run-full",
        "sandbox-run",
        "../bin/sandbox-run",
        "../../bin/sandbox-run",
        "../sandbox-run",
    };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct stat st;

        snprintf(path, PATH_SIZE, "%s/%s", dir, places[i]);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* This program itself, or the one that was installed with the library. */
static int find_program(char path[PATH_SIZE], sbr_error *err)
{
    char own[4096];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *slash;

    if (is_our_program) {
        snprintf(path, PATH_SIZE, "/proc/self/exe");
        return 0;
    }
    own[len > 0 ? len : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    if ((slash && find_beside(own, path)) ||
        (find_library(own, sizeof(own)) && find_beside(own, path)))
        return 0;
    return err_set(err, SBR_E_NOT_FOUND, "session",
                   "a session needs the program `sandbox-run`, which is neither beside this "
                   "program nor where it is installed with libsandboxrun; install it there");
}

/* Copies above all numbers that the new program gets. */
static int copy_fds(const struct session *s, int state, int ret[FD_END])
{
    const int from[FD_END] = { [FD_STATE] = state,
                               [FD_DIR] = s->dir.fd,
                               [FD_LOCK] = s->dir.lock_fd,
                               [FD_READY] = s->ready_fd };

    for (int i = FD_STATE; i < FD_END; i++)
        ret[i] = -1;
    for (int i = FD_STATE; i < FD_END; i++)
        if ((ret[i] = fcntl(from[i], F_DUPFD_CLOEXEC, FD_END)) < 0)
            return -1;
    return 0;
}

static int set_actions(posix_spawn_file_actions_t *actions, const int fds[FD_END])
{
    int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);

    for (int i = 1; r == 0 && i < FD_STATE; i++)
        r = posix_spawn_file_actions_adddup2(actions, 0, i);
    for (int i = FD_STATE; r == 0 && i < FD_END; i++)
        r = posix_spawn_file_actions_adddup2(actions, fds[i], i);
    return r;
}

/* The program forks at once, so that no child is left to the maker. */
static int spawn(const char *path, const int fds[FD_END])
{
    char name[] = SESSION_PROGRAM_NAME;
    char *const argv[] = { name, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    pid_t pid = -1;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        sigfillset(&all);
        sigemptyset(&none);
        (void)posix_spawnattr_setsigdefault(&attributes, &all);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        r = set_actions(&actions, fds);
        if (r == 0)
            r = posix_spawn(&pid, path, &actions, &attributes, argv, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    while (r == 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return r;
}

int session_program_start(const struct session *s, sbr_error *err)
{
    char path[PATH_SIZE];
    int fds[FD_END], r;
    scoped_fd int state = -1;
    struct buf out;

    if (find_program(path, err) < 0)
        return err->code;
    buf_init(&out, ENCODED_MAX);
    encode(s, &out);
    if (!out.failed)
        state = fd_sealed_memory("session", out.data, out.len, MFD_CLOEXEC);
    buf_done(&out);
    if (state < 0)
        return out.failed ? err_set_oom(err, "session")
                          : err_set_errno(err, "session", "cannot hand the request over");
    r = copy_fds(s, state, fds) < 0 ? errno : spawn(path, fds);
    for (int i = FD_STATE; i < FD_END; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    errno = r;
    return r ? err_set_errno(err, "session", "cannot execute '%.200s' for the session", path) : 0;
}

bool session_program_is_wanted(char *const *argv)
{
    is_our_program = true;
    return argv[0] && !strcmp(argv[0], SESSION_PROGRAM_NAME);
}

int session_program_take(struct session *ret, sbr_error *err)
{
    scoped_fd int state = FD_STATE;
    struct stat st;
    pid_t pid;
    void *data;
    int r;

    syscall(SYS_close_range, FD_END, ~0U, 0);
    for (int i = FD_STATE; i < FD_END; i++)
        if (fcntl(i, F_SETFD, FD_CLOEXEC) < 0)
            return err_set(err, SBR_E_INVALID, "session", "this program is started by others");
    ret->dir.fd = FD_DIR;
    ret->dir.lock_fd = FD_LOCK;
    ret->ready_fd = FD_READY;
    pid = fork();
    if (pid > 0)
        _exit(0); /* lint-ok: _exit: the process that the maker waits for */
    if (pid < 0)
        return err_set_errno(err, "session", "cannot make a process for the session");
    if (fstat(state, &st) < 0 || st.st_size <= 0)
        return err_set(err, SBR_E_INVALID, "session", "there is no request");
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, state, 0);
    if (data == MAP_FAILED)
        return err_set_errno(err, "session", "cannot read the request");
    r = decode(&(struct buf_reader){ .data = data, .len = (size_t)st.st_size }, ret, err);
    (void)munmap(data, (size_t)st.st_size);
    return r;
}
