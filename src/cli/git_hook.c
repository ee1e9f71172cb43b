/* verify --install-hook: git calls `sandbox-run verify` before a commit or a push. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/text.h"
#include "cli/cmd_verify.h"
#include "lib/git_repo.h"
#include "lib/runner.h"

#define OURS "# Installed by `sandbox-run verify --install-hook`."
#define MOST_READ (64 * 1024)

/* A hook that does not find the program blocks: what was not checked does not pass. */
static const struct git_hook {
    const char *name, *line, *text;
} hooks[] = {
    { "pre-commit", "sandbox-run verify --staged || exit 1",
      "#!/bin/sh\n" OURS "\n"
      "exec sandbox-run verify --staged\n" },
    { "pre-push", "sandbox-run verify --commit HEAD </dev/null || exit 1",
      "#!/bin/sh\n" OURS "\n"
      "while read -r ref commit other since; do\n"
      "    case $commit in *[!0]*) ;; *) continue ;; esac\n"
      "    sandbox-run verify --commit \"$commit\" --since \"$since\" </dev/null"
      " || exit 1\n"
      "done\n" },
};

static const struct git_hook *find_hook(const char *name)
{
    for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
        if (!strcmp(hooks[i].name, name))
            return &hooks[i];
    return NULL;
}

/* The repository's own configuration may come from anyone: nothing is written where it sends hooks,
 * and a hook elsewhere would not run then. */
static int check_own_path(const struct git_repo *repo, const struct git_hook *hook, sbr_error *err)
{
    static const char *const words[] = {
        "config", "--default", "", "--get", "core.hooksPath", NULL
    };
    struct buf text;
    char shown[200];

    if (git_repo_ask(repo, words, NULL, &text, err) < 0)
        return err->code;
    text_copy_visibly(shown, sizeof(shown), text.len ? text.data : "",
                      text.len ? strcspn(text.data, "\n") : 0);
    buf_done(&text);
    if (!shown[0])
        return 0;
    return err_set(
        err, SBR_E_INVALID, "git",
        "the configuration of the repository has its hooks in '%.150s', where nothing is "
        "written for it; add the line `%s` to its %s there",
        shown, hook->line, hook->name);
}

static int open_hooks_of(const struct git_repo *repo, char **ret_path, sbr_error *err)
{
    bool linked = repo->common[0];
    scoped_fd int top = open(linked ? repo->common : repo->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    scoped_fd int git =
        top < 0 ? -1 : inode_open_beneath(top, linked ? "." : ".git", O_PATH | O_DIRECTORY, 0);
    int fd;

    *ret_path =
        linked ? text_format("%s/hooks", repo->common) : text_format("%s/.git/hooks", repo->top);
    if (!*ret_path)
        return err_set_oom(err, "git");
    if (git >= 0)
        (void)mkdirat(git, "hooks", 0777); /* a bare template leaves it out */
    fd = git < 0 ? -1 : inode_open_beneath(git, "hooks", O_RDONLY | O_DIRECTORY, 0);
    return fd >= 0 ? fd
                   : err_set_errno(err, "git",
                                   "cannot open '%.200s', which must be a directory "
                                   "and no link",
                                   *ret_path);
}

/* The directory of hooks: the user's own, where the user's configuration has one for all
 * repositories, else the repository's.  Returns its fd. */
static int open_hooks(const struct git_repo *repo, const struct git_hook *hook, char **ret_path,
                      sbr_error *err)
{
    int fd;

    if (check_own_path(repo, hook, err) < 0 || git_repo_user_hooks(ret_path, err) < 0)
        return err->code;
    if (!*ret_path)
        return open_hooks_of(repo, ret_path, err);
    fd = open(*ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fd
                   : err_set_errno(err, "git",
                                   "cannot open '%.200s', where core.hooksPath of your "
                                   "configuration has hooks; make it",
                                   *ret_path);
}

/* 0: the place is free; 1: our own hook is there; an error: another one is. */
static int look(int dir_fd, const char *path, const struct git_hook *hook, sbr_error *err)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(dir_fd, hook->name, &st);
    scoped_free char *data = NULL;
    size_t len = 0;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd >= 0 && fd_read_text(fd, MOST_READ, &data, &len, err) == 0 && strstr(data, OURS))
        return 1;
    return err_set(err, SBR_E_INVALID, "git",
                   "'%.200s/%s' is a hook of another origin and stays as it is; add the line `%s` "
                   "to it",
                   path, hook->name, hook->line);
}

static int write_hook(int dir_fd, const char *path, const struct git_hook *hook, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, hook->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);

    if (fd < 0 || fd_write_all(fd, hook->text, strlen(hook->text)) < 0)
        return err_set_errno(err, "git", "cannot write '%.200s/%s'", path, hook->name);
    return 0;
}

/* 1: it was there already. */
static int install(const struct options *o, const struct git_hook *hook, char **ret_path,
                   sbr_error *err)
{
    scoped_fd int dir_fd = -1;
    sbr_runtime *rt = NULL;
    struct git_repo repo;
    int r = runner_open(RUNNER_LONG, o->cold, &rt, err);

    if (r == 0)
        r = git_repo_open(rt, ".", &repo, err);
    if (r == 0)
        r = dir_fd = open_hooks(&repo, hook, ret_path, err);
    sbr_runtime_close(rt);
    if (r < 0) {
        dir_fd = -1;
        return r;
    }
    r = look(dir_fd, *ret_path, hook, err);
    return r == 0 ? write_hook(dir_fd, *ret_path, hook, err) : r;
}

int git_hook_install(const struct options *o)
{
    const char *name = o->n_positional ? o->positional[0] : "pre-commit";
    const struct git_hook *hook = find_hook(name);
    scoped_free char *path = NULL;
    sbr_error err;
    int r;

    if (o->n_positional > 1 || !hook) {
        err_set(&err, SBR_E_INVALID, "options",
                "--install-hook takes pre-commit or pre-push, and no file");
        return cli_fail(o, &err);
    }
    r = install(o, hook, &path, &err);
    if (r < 0)
        return cli_fail(o, &err);
    printf("%s: %s/%s\n", r ? "is there already" : "installed", path, name);
    return 0;
}
