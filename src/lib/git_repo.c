#include "lib/git_repo.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/text.h"
#include "config/config_find.h"
#include "lib/tool_job.h"

#define STAGE "git"
#define MOST_OUTPUT ((uint64_t)256 << 20)
#define MOST_MS 120000
#define MEMORY ((uint64_t)2 << 30) /* of it the kernel takes what a large index needs */
#define MOST_LINK 8192             /* bytes of a file that names a directory */
#define OUTSIDE_VIEW "what lies outside of the repository is not there for git"

/* Whoever owns it inside is not who calls git. */
static const char config[] = "[safe]\n\tdirectory = *\n";

/* The words of a file such as `.git` of a worktree, without the new line; NULL: it has none. */
static char *read_line(const char *dir, const char *name)
{
    scoped_fd int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    scoped_fd int fd = at >= 0 ? inode_open_regular(at, name, &st) : -1;
    char *text = NULL;
    sbr_error none;
    size_t len;

    if (fd < 0 || fd_read_text(fd, MOST_LINK, &text, &len, &none) < 0)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* What a path leads to that is absolute, or relative to the directory; false: nothing is there. */
static bool resolve(const char *dir, const char *path, char ret[PATH_MAX])
{
    scoped_free char *whole = path[0] == '/' ? strdup(path) : text_format("%s/%s", dir, path);

    return whole && realpath(whole, ret);
}

/* GITDIR/gitdir names the `.git` of the worktree: its repository knows it. */
static bool is_known(const char *gitdir, const char *top)
{
    scoped_free char *back = read_line(gitdir, "gitdir"), *own = text_format("%s/.git", top);
    char real[PATH_MAX];

    return back && own && resolve(gitdir, back, real) && !strcmp(real, own);
}

static bool set_worktree(struct git_repo *repo, const char *gitdir)
{
    const char *name = strrchr(gitdir, '/');
    const char *folder = name ? memrchr(gitdir, '/', (size_t)(name - gitdir)) : NULL;

    if (!folder || strncmp(folder, "/worktrees/", strlen("/worktrees/")) != 0 ||
        !is_known(gitdir, repo->top))
        return false;
    snprintf(repo->name, sizeof(repo->name), "%.*s", NAME_MAX, name + 1);
    snprintf(repo->common, sizeof(repo->common), "%.*s", (int)(folder - gitdir), gitdir);
    return true;
}

/* `.git` is a file of a linked worktree.  It may name any repository of the caller's, so that
 * repository has to name the worktree as well. */
static int open_worktree(struct git_repo *repo, sbr_error *err)
{
    scoped_free char *line = read_line(repo->top, ".git");
    char gitdir[PATH_MAX] = "";

    if (line && !strncmp(line, "gitdir: ", 8) && resolve(repo->top, line + 8, gitdir) &&
        set_worktree(repo, gitdir) && !config_find_is_foreign(repo->common) &&
        !config_find_is_foreign(gitdir))
        return 0;
    return err_set(err, SBR_E_INVALID, STAGE,
                   "'%.200s/.git' is a file, and what it leads to is no repository of yours that "
                   "has this directory as a worktree; go to a repository with a directory `.git`",
                   repo->top);
}

/* The rest of the path below the directory; NULL: it is not below it. */
static const char *rest_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return len && !strncmp(path, dir, len) && path[len] == '/' ? path + len : NULL;
}

/* The index of a commit that is being made, which git names to its hooks. */
static int find_index(struct git_repo *repo, sbr_error *err)
{
    const char *named = getenv("GIT_INDEX_FILE");

    repo->index[0] = '\0';
    if (!named || !*named)
        return 0;
    if (resolve(".", named, repo->index) &&
        (rest_below(repo->index, repo->common) || rest_below(repo->index, repo->top)))
        return 0;
    return err_set(err, SBR_E_INVALID, STAGE,
                   "GIT_INDEX_FILE names '%.200s', which is not in the repository; unset it",
                   named);
}

int git_repo_open(const sbr_runtime *rt, const char *start, struct git_repo *ret, sbr_error *err)
{
    scoped_free char *sign = NULL;
    struct stat st;

    *ret = (struct git_repo){ .rt = rt };
    if (!config_find_repository(start, ret->top))
        return err_set(err, SBR_E_INVALID, STAGE,
                       "this directory is in no git repository of yours; go to one, or `git init` "
                       "makes it");
    sign = text_format("%s/.git", ret->top);
    if (!sign)
        return err_set_oom(err, STAGE);
    if (lstat(sign, &st) == 0 && !S_ISDIR(st.st_mode) && open_worktree(ret, err) < 0)
        return err->code;
    return find_index(ret, err);
}

/* Where git sees the two directories. */
struct view {
    const char *top, *common;
};

static int add_tree(sbr_request *req, const char *source, const char *target, sbr_error *err)
{
    bool own_name = !strcmp(source, target);

    if (own_name && geteuid() == 0)
        return err_set(err, SBR_E_UNSUPPORTED, STAGE,
                       "without namespaces root cannot give git the repository; call as an "
                       "ordinary user, or see `sandbox-run doctor`");
    /* Copy-on-write is what shows root's trees as the run's own. */
    return tool_job_add_volume(req, source, target, geteuid() == 0 ? VOLUME_COW : VOLUME_RO, err);
}

static int add_env(sbr_request *req, const char *name, const char *value, const char *rest,
                   sbr_error *err)
{
    scoped_free char *pair = text_format("%s=%s%s", name, value, rest);

    return pair ? request_add_env(req, pair, err) : err_set_oom(err, STAGE);
}

/* Nothing of the repository's own choice: neither where its files are, nor what its configuration
 * of the working tree says. */
static int add_places(const struct git_repo *repo, const struct view *view, sbr_request *req,
                      sbr_error *err)
{
    scoped_free char *below = text_format("/worktrees/%s", repo->name);
    const char *in_common = rest_below(repo->index, repo->common);
    const char *in_top = rest_below(repo->index, repo->top);

    if (!below)
        return err_set_oom(err, STAGE);
    if (add_env(req, "GIT_WORK_TREE", view->top, "", err) < 0 ||
        (repo->common[0] ? add_env(req, "GIT_DIR", view->common, below, err)
                         : add_env(req, "GIT_DIR", view->top, "/.git", err)) < 0)
        return err->code;
    if (in_common)
        return add_env(req, "GIT_INDEX_FILE", view->common, in_common, err);
    return in_top ? add_env(req, "GIT_INDEX_FILE", view->top, in_top, err) : 0;
}

static int fill(const struct git_repo *repo, const struct view *view, sbr_request *req,
                sbr_error *err)
{
    static const char *const fixed[] = { "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
                                         "GIT_OPTIONAL_LOCKS=0",  "GIT_TERMINAL_PROMPT=0",
                                         "GIT_NO_LAZY_FETCH=1",   "GIT_PROTOCOL_FROM_USER=0" };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (request_add_env(req, fixed[i], err) < 0)
            return err->code;
    /* A view has no secrets to hide: git compares every file, and its answers are names and what
     * the repository has. */
    if (request_add_include(req, "*", err) < 0 ||
        request_add_file(req, ".gitconfig", config, sizeof(config) - 1, err) < 0 ||
        add_places(repo, view, req, err) < 0 || add_tree(req, repo->top, view->top, err) < 0)
        return err->code;
    req->limits.value[SBR_WALL_MS] = MOST_MS;
    req->limits.value[SBR_MEMORY_BYTES] = MEMORY;
    req->limits.value[SBR_OUTPUT_BYTES] = MOST_OUTPUT;
    return repo->common[0] ? add_tree(req, repo->common, view->common, err) : 0;
}

static void take_bytes(void *context, const char *data, size_t len)
{
    (void)buf_add(context, data, len);
}

/* The last line that git wrote is the reason. */
static int judge(const struct git_repo *repo, const char *word, const sbr_result *result,
                 const struct buf *out, sbr_error *err)
{
    const char *text = result->err.data ? result->err.data : "", *line = text;
    char said[200];

    if (result_success(result) && !out->failed)
        return 0;
    for (const char *at = text; (at = strchr(at, '\n')) && at[1]; at++)
        line = at + 1;
    text_copy_visibly(said, sizeof(said), line, strcspn(line, "\n"));
    return err_set(err, SBR_E_INVALID, STAGE, "`git %s` failed in '%.200s': %s (" OUTSIDE_VIEW ")",
                   word, repo->top,
                   out->failed              ? "it says too much"
                   : said[0]                ? said
                   : result->explanation[0] ? result->explanation
                                            : "it gives no reason");
}

static int run(const struct git_repo *repo, const struct view *view, const char *const *words,
               const struct buf *input, struct buf *ret, sbr_error *err)
{
    /* Numbers of inodes and owners are others inside: size and time of a file have to do. */
    static const char *const git[] = { "git",
                                       "-c",
                                       "core.checkStat=minimal",
                                       "-c",
                                       "core.trustctime=false",
                                       "-c",
                                       "core.fsmonitor=false",
                                       "-c",
                                       "core.untrackedCache=false",
                                       NULL };
    struct tool_job tool = { .rt = repo->rt,
                             .options = { .keep_output = true,
                                          .sink_out = { take_bytes, ret },
                                          .stdin_data = input ? input->data : NULL,
                                          .stdin_len = input ? input->len : 0,
                                          .stdin_fd = -1 } };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = tool_job_request(git, &req, err);

    buf_init(ret, MOST_OUTPUT);
    for (size_t i = 0; r == 0 && words[i]; i++)
        r = request_add_arg(req, words[i], err);
    if (r == 0)
        r = fill(repo, view, req, err);
    if (r == 0)
        r = tool_job_run(&tool, req, &result, err);
    if (r == 0 && result)
        r = judge(repo, words[0], result, ret, err);
    if (r < 0)
        buf_done(ret);
    result_free(result);
    request_free(req);
    return r;
}

int git_repo_ask(const struct git_repo *repo, const char *const *words, const struct buf *input,
                 struct buf *ret, sbr_error *err)
{
    const struct view inside = { "/repo", "/git" }, own_names = { repo->top, repo->common };
    bool tries = repo->rt->features.user_namespaces;
    int r = tool_job_check("git", "repositories need", STAGE, err);

    if (r == 0)
        r = run(repo, tries ? &inside : &own_names, words, input, ret, err);
    /* Some hosts refuse namespaces only when they are tried. */
    if (r < 0 && tries && err_retry(err) == ERR_UNDER_OWN_NAMES)
        r = run(repo, &own_names, words, input, ret, err);
    return r;
}

/* Of our own environment only what says where the user's configuration is. */
static void choose_env(char *env[], size_t n)
{
    static const char *const names[] = { "HOME=",
                                         "XDG_CONFIG_HOME=",
                                         "PATH=",
                                         "GIT_CONFIG_GLOBAL=",
                                         "GIT_CONFIG_SYSTEM=",
                                         "GIT_CONFIG_NOSYSTEM=" };
    static char nowhere[] = "GIT_DIR=/dev/null";
    size_t at = 0;

    for (char **pair = environ; *pair; pair++)
        for (size_t i = 0; i < ARRAY_LEN(names) && at + 2 < n; i++)
            if (!strncmp(*pair, names[i], strlen(names[i])))
                env[at++] = *pair;
    env[at++] = nowhere;
    env[at] = NULL;
}

static int start(int out_fd, pid_t *ret)
{
    static const char *const words[] = { "git",   "config",         "--type=path",
                                         "--get", "core.hooksPath", NULL };
    posix_spawn_file_actions_t actions;
    char *env[16];
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return r;
    choose_env(env, ARRAY_LEN(env));
    r = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addchdir_np(&actions, "/");
    if (r == 0)
        r = posix_spawnp(ret, "git", &actions, NULL, (char *const *)words, env);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* The only git outside of a sandbox: it is in no repository, and reads nothing but what the user
 * and the operator wrote for it. */
int git_repo_user_hooks(char **ret, sbr_error *err)
{
    scoped_fd int from = -1, to = -1;
    int fds[2], status = 0, r;
    pid_t pid = 0;
    size_t len;

    *ret = NULL;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_set_errno(err, STAGE, "cannot make a pipe");
    from = fds[0];
    to = fds[1];
    errno = start(to, &pid);
    if (errno)
        return err_set_errno(err, STAGE, "cannot start git");
    scope_close_fd(&to);
    to = -1;
    r = fd_read_text(from, MOST_LINK, ret, &len, err);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r < 0)
        return r;
    (*ret)[strcspn(*ret, "\n")] = '\0';
    if (status != 0 || (*ret)[0] != '/')
        free(take_ptr(*ret));
    return 0;
}
