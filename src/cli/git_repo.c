#include "cli/git_repo.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

#define MOST_WORDS 24
#define MOST_OUTPUT (1u << 30)

bool git_repo_find(const char *dir, char top[PATH_MAX])
{
    char sign[PATH_MAX + 8], *slash;

    if (!realpath(dir, top))
        return false;
    for (;;) {
        snprintf(sign, sizeof(sign), "%s/.git", strcmp(top, "/") ? top : "");
        if (access(sign, F_OK) == 0)
            return true;
        slash = strrchr(top, '/');
        if (!slash || slash == top)
            return false;
        *slash = '\0';
    }
}

static int start(const char *top, const char *const *words, int out_fd, pid_t *ret)
{
    /* A hook of the repository must not run because we look. */
    const char *all[MOST_WORDS] = { "git", "-C", top, "-c", "core.fsmonitor=false" };
    posix_spawn_file_actions_t actions;
    size_t n = 5;
    int r;

    while (*words && n < MOST_WORDS - 1)
        all[n++] = *words++;
    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    r = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawnp(ret, "git", &actions, NULL, (char *const *)all, environ);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

int git_repo_ask(const char *top, const char *const *words, char **ret, size_t *ret_len,
                 sbr_error *err)
{
    scoped_fd int from = -1, to = -1;
    int fds[2], status = 0, r;
    pid_t pid = 0;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_set_errno(err, "git", "cannot make a pipe");
    from = fds[0];
    to = fds[1];
    errno = start(top, words, to, &pid);
    if (errno)
        return err_set_errno(err, "git", "cannot start git");
    scope_close_fd(&to);
    to = -1;
    r = fd_read_text(from, MOST_OUTPUT, ret, ret_len, err);
    scope_close_fd(&from);
    from = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r < 0)
        return r;
    if (status == 0)
        return 0;
    free(take_ptr(*ret));
    return err_set(err, SBR_E_INVALID, "git", "`git %s` failed in '%.200s'", words[0], top);
}

const char *git_repo_next_name(const char *output, size_t len, size_t *at)
{
    const char *name = output + *at;

    if (*at >= len || !memchr(name, '\0', len - *at))
        return NULL;
    *at += strlen(name) + 1;
    return name;
}

/* ":100644 100755 OBJECT OBJECT STATUS", then the path. */
bool git_repo_next_change(const char *output, size_t len, size_t *at, struct git_change *ret)
{
    const char *line = git_repo_next_name(output, len, at);
    const char *path = line ? git_repo_next_name(output, len, at) : NULL;
    const char *object, *end;

    if (!path || line[0] != ':' || strlen(line) < 16)
        return false;
    object = line + strlen(":100644 100644 ");
    end = strchr(object, ' ');
    if (!end)
        return false;
    *ret = (struct git_change){ .path = path,
                                .object = object,
                                .object_len = (size_t)(end - object),
                                .is_file = !strncmp(line + 1, "100", 3),
                                .executable = !strncmp(line + 1, "100755", 6),
                                .only_working = !strncmp(line + 1, "000000", 6) };
    return true;
}
