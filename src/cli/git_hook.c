/* verify --install-hook: git calls `sandbox-run verify` before a commit or a push. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/cmd_verify.h"
#include "cli/git_repo.h"

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

/* Where git looks for it: core.hooksPath counts. */
static int find_place(const char *name, char **ret, sbr_error *err)
{
    scoped_free char *below = text_format("hooks/%s", name), *path = NULL;
    const char *const words[] = { "rev-parse", "--git-path", below, NULL };
    char top[PATH_MAX];
    size_t len = 0;

    if (!below)
        return err_set_oom(err, "git");
    if (!git_repo_find(".", top))
        return err_set(err, SBR_E_INVALID, "git",
                       "this directory is in no git repository; go to one, or `git init` makes it");
    if (git_repo_ask(top, words, &path, &len, err) < 0)
        return err->code;
    path[strcspn(path, "\n")] = '\0';
    *ret = path[0] == '/' ? take_ptr(path) : text_format("%s/%s", top, path);
    return *ret ? 0 : err_set_oom(err, "git");
}

/* 0: the place is free; 1: our own hook is there; an error: another one is. */
static int look(const char *path, const struct git_hook *hook, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    scoped_free char *data = NULL;
    size_t len = 0;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_set_errno(err, "git", "cannot read '%.200s'", path);
    if (fd_read_text(fd, MOST_READ, &data, &len, err) == 0 && strstr(data, OURS))
        return 1;
    return err_set(err, SBR_E_INVALID, "git",
                   "'%.200s' is a hook of another origin and stays as it is; add the line `%s` to "
                   "it",
                   path, hook->line);
}

static int write_hook(const char *path, const char *text, sbr_error *err)
{
    scoped_free char *dir = strndup(path, (size_t)(strrchr(path, '/') - path));
    scoped_fd int fd = -1;

    if (!dir)
        return err_set_oom(err, "git");
    (void)mkdir(dir, 0777); /* a bare template leaves it out; the next line reports what is wrong */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
        return err_set_errno(err, "git", "cannot write '%.200s'", path);
    return 0;
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
    if (find_place(name, &path, &err) < 0)
        return cli_fail(o, &err);
    r = look(path, hook, &err);
    if (r < 0 || (r == 0 && write_hook(path, hook->text, &err) < 0))
        return cli_fail(o, &err);
    printf("%s: %s\n", r ? "is there already" : "installed", path);
    return 0;
}
