/* What `verify` checks: given files, what is staged or committed, or a text. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/cmd_verify.h"
#include "cli/source.h"
#include "config/config_find.h"
#include "lib/git_repo.h"
#include "plan/language.h"

#define MOST_EXCLUDED 900 /* of the 1000 patterns that a request may have */

static bool is_here(const char *dir)
{
    struct stat here, there;

    return stat(".", &here) == 0 && stat(dir, &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
}

/* The caller's own repository around the file or directory, unless --project names another. */
static void find_project(struct verify_input *in, const char *path)
{
    const char *name = strrchr(path, '/');
    scoped_free char *dir = NULL;
    struct stat st;

    if (in->o->request->project) {
        snprintf(in->project, sizeof(in->project), "%s", in->o->request->project);
        return;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        dir = strdup(path);
    else
        dir = name ? strndup(path, (size_t)(name - path) + 1) : strdup(".");
    if (!dir || !config_find_repository(dir, in->project))
        in->project[0] = '\0';
    else if (!in->o->json && !in->o->quiet && !in->o->n_positional && !is_here(in->project))
        fprintf(stderr, "sandbox-run: the project is the repository around this directory, %s\n",
                in->project);
}

/* The path in the project; without one, the last part.  The file itself need not be there. */
static int path_inside(const struct verify_input *in, const char *path, char ret[PATH_MAX],
                       sbr_error *err)
{
    const char *name = strrchr(path, '/');
    scoped_free char *dir = NULL, *real = NULL;
    size_t len = strlen(in->project);

    name = name ? name + 1 : path;
    dir = strndup(path, (size_t)(name - path));
    real = realpath(dir && *dir ? dir : ".", NULL);
    if (!real)
        return err_set_errno(err, "verify", "cannot find the directory of '%.200s'", path);
    if (!in->project[0]) {
        snprintf(ret, PATH_MAX, "%s", name);
        return 0;
    }
    if (strncmp(real, in->project, len) != 0 || (real[len] && real[len] != '/'))
        return err_set(err, SBR_E_INVALID, "verify",
                       "'%.200s' is not in the project '%.200s'; check it by a call of its own",
                       path, in->project);
    snprintf(ret, PATH_MAX, "%s%s%s", real[len] ? real + len + 1 : "", real[len] ? "/" : "", name);
    return 0;
}

static int check_language(const struct verify_input *in, const char *path, sbr_error *err)
{
    if (in->o->lang || language_for_extension(path))
        return 0;
    return err_set(err, SBR_E_INVALID, "language",
                   "cannot tell the language of '%.200s'; name it with --lang", path);
}

/* A file of the project is read where it is; one by itself comes with the request. */
static int take_given(struct verify_input *in, const char *path, sbr_error *err)
{
    scoped_free char *data = NULL, *real = in->project[0] ? realpath(path, NULL) : NULL;
    char inside[PATH_MAX];
    struct stat st;
    size_t len = 0;

    if (real && stat(real, &st) == 0 && !S_ISREG(st.st_mode)) /* a pipe would be waited for */
        return err_set(err, SBR_E_INVALID, "verify", "'%.200s' is no regular file", path);
    /* A link means what it leads to, as far as that is in the project. */
    if (path_inside(in, real ? real : path, inside, err) < 0 ||
        source_read_path(path, &data, &len, err) < 0 || check_language(in, path, err) < 0 ||
        (!in->project[0] && request_add_file(in->o->request, inside, data, len, err) < 0))
        return err->code;
    return string_list_add(&in->files, inside, err);
}

/* The directory that is named, or the current one where nothing is; NULL: files are named. */
static const char *whole_directory(const struct options *o)
{
    struct stat st;

    if (!o->n_positional)
        return ".";
    if (o->n_positional == 1 && stat(o->positional[0], &st) == 0 && S_ISDIR(st.st_mode))
        return o->positional[0];
    return NULL;
}

static int collect_given(struct verify_input *in, sbr_error *err)
{
    const char *dir = whole_directory(in->o);

    find_project(in, dir ? dir : in->o->positional[0]);
    if (dir && !in->project[0] && !realpath(dir, in->project))
        return err_set_errno(err, "verify", "cannot find '%.200s'", dir);
    if (dir)
        return 0;
    for (size_t i = 0; i < in->o->n_positional; i++)
        if (take_given(in, in->o->positional[i], err) < 0)
            return err->code;
    return 0;
}

static int collect_text(struct verify_input *in, sbr_error *err)
{
    const struct language *language = language_find(in->o->lang);
    const char *to = in->own->write, *code = in->o->code;
    scoped_free char *text = NULL;
    char inside[PATH_MAX];
    size_t len = code ? strlen(code) : 0;

    if (to)
        find_project(in, to);
    snprintf(inside, sizeof(inside), "%s", language->source);
    if ((to && path_inside(in, to, inside, err) < 0) ||
        (!code && fd_read_text(STDIN_FILENO, REQUEST_MAX_BYTES, &text, &len, err) < 0) ||
        request_add_file(in->o->request, inside, code ? code : text, len, err) < 0)
        return err->code;
    return string_list_add(&in->files, inside, err);
}

/* A file that is only in the working tree is left out: a commit does not have it. */
static int leave_out(struct verify_input *in, const char *path, sbr_error *err)
{
    struct buf pattern;
    int r;

    if (in->o->request->excludes.n >= MOST_EXCLUDED)
        return err_set(err, SBR_E_INVALID, "git",
                       "more than %d files are not tracked; add them to .gitignore", MOST_EXCLUDED);
    buf_init(&pattern, 4 * PATH_MAX);
    buf_add_text(&pattern, "/");
    for (; *path; path++) {
        if (strchr("*?[]\\! #", *path))
            buf_add_text(&pattern, "\\");
        buf_add(&pattern, path, 1);
    }
    r = pattern.failed ? err_set_oom(err, "git")
                       : request_add_exclude(in->o->request, pattern.data, err);
    buf_done(&pattern);
    return r;
}

/* The contents of all objects at once, in the order of their names. */
static int bring_files(struct verify_input *in, const struct git_repo *repo,
                       const struct git_output *changes, const struct buf *objects, sbr_error *err)
{
    static const char *const words[] = { "cat-file", "--batch", NULL };
    struct git_output list = { changes->data, changes->len, 0 }, blobs = { 0 };
    sbr_request *req = in->o->request;
    struct git_change change;
    struct buf contents;
    int r = git_repo_ask(repo, words, objects, &contents, err);

    if (r < 0)
        return r;
    blobs = (struct git_output){ contents.data, contents.len, 0 };
    while (r == 0 && git_output_change(&list, &change)) {
        const char *data = NULL;
        size_t len = 0;

        if (change.only_working || !change.is_file)
            continue;
        if (!git_output_blob(&blobs, &data, &len))
            r = err_set(err, SBR_E_INVALID, "git",
                        "the repository lacks the content of '%.200s'; `git fetch` may bring it",
                        change.path);
        else
            r = request_add_file(req, change.path, data, len, err);
        if (r == 0)
            req->files[req->n_files - 1].executable = change.executable;
    }
    buf_done(&contents);
    return r;
}

/* What differs from the working files. */
static int bring_changes(struct verify_input *in, const struct git_repo *repo,
                         const char *const *words, sbr_error *err)
{
    struct git_output changes = { 0 };
    struct buf text, objects;
    struct git_change change;
    int r = git_repo_ask(repo, words, NULL, &text, err);

    if (r < 0)
        return r;
    buf_init(&objects, SIZE_MAX / 2);
    changes = (struct git_output){ text.data, text.len, 0 };
    while (r == 0 && git_output_change(&changes, &change)) {
        if (change.only_working)
            r = leave_out(in, change.path, err);
        else if (change.is_file)
            (void)buf_printf(&objects, "%.*s\n", (int)change.object_len, change.object);
    }
    if (r == 0 && objects.failed)
        r = err_set_oom(err, "git");
    if (r == 0 && objects.len)
        r = bring_files(in, repo, &changes, &objects, err);
    buf_done(&objects);
    buf_done(&text);
    return r;
}

/* Takes each name that git prints, with a NUL behind it. */
static int take_names(struct verify_input *in, const struct git_repo *repo,
                      const char *const *words,
                      int (*take)(struct verify_input *, const char *, sbr_error *), sbr_error *err)
{
    struct git_output names = { 0 };
    struct buf text;
    const char *name;
    int r = git_repo_ask(repo, words, NULL, &text, err);

    if (r < 0)
        return r;
    names = (struct git_output){ text.data, text.len, 0 };
    while (r == 0 && (name = git_output_name(&names)))
        r = take(in, name, err);
    buf_done(&text);
    return r;
}

/* What only the working directory has is not there. */
static int leave_others_out(struct verify_input *in, const struct git_repo *repo, sbr_error *err)
{
    static const char *const words[] = { "ls-files", "--others",    "--exclude-standard",
                                         "-z",       "--directory", "--no-empty-directory",
                                         NULL };

    return take_names(in, repo, words, leave_out, err);
}

/* No commit before: everything is new. */
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

/* --since, or the commit before; a commit without one, and a push of a new branch, is all new. */
static const char *find_since(const struct verify_input *in, const struct git_repo *repo,
                              struct buf *parent)
{
    scoped_free char *word = text_format("%s^", in->own->commit ? in->own->commit : "");
    const char *const ask[] = {
        "rev-parse", "--verify", "--quiet", "--end-of-options", word, NULL
    };
    const char *since = in->own->since;
    sbr_error none;

    if (!since && in->own->commit && word && git_repo_ask(repo, ask, NULL, parent, &none) == 0 &&
        parent->len) {
        parent->data[strcspn(parent->data, "\n")] = '\0';
        since = parent->data;
    }
    return since && since[strspn(since, "0")] ? since : EMPTY_TREE;
}

static int add_file_name(struct verify_input *in, const char *name, sbr_error *err)
{
    return string_list_add(&in->files, name, err);
}

static int list_files(struct verify_input *in, const struct git_repo *repo,
                      const char *const *words, sbr_error *err)
{
    return take_names(in, repo, words, add_file_name, err);
}

static int collect_from_git(struct verify_input *in, sbr_error *err)
{
    const char *commit = in->own->commit, *since;
    struct git_repo repo;
    struct buf parent;
    int r = git_repo_open(in->rt, ".", &repo, err);

    if (r < 0)
        return r;
    buf_init(&parent, PATH_MAX);
    since = find_since(in, &repo, &parent);
    {
        const char *const staged[] = {
            "diff", "--cached", "--name-only", "--no-renames", "-z", "--diff-filter=ACMRT", NULL
        };
        const char *const files[] = { "diff-files", "-z", "--no-renames", NULL };
        const char *const committed[] = { "diff-tree", "-r",  "--name-only", "--diff-filter=ACMRT",
                                          "-z",        since, commit,        "--",
                                          NULL };
        const char *const index[] = { "diff-index", "-z", "--no-renames", commit, "--", NULL };

        snprintf(in->project, sizeof(in->project), "%s", repo.top);
        r = list_files(in, &repo, commit ? committed : staged, err);
        if (r == 0)
            r = bring_changes(in, &repo, commit ? index : files, err);
    }
    buf_done(&parent);
    return r < 0 ? r : leave_others_out(in, &repo, err);
}

static int check_words(const struct verify_input *in, sbr_error *err)
{
    const struct verify_options *own = in->own;
    bool text = in->o->code || (in->o->lang && !in->o->n_positional);
    bool git = own->staged || own->commit;

    if (text + git + (in->o->n_positional > 0) > 1 || (own->staged && own->commit))
        return err_set(err, SBR_E_INVALID, "options",
                       "give one of files, --code, --staged and --commit");
    if (in->o->code && !in->o->lang)
        return err_set(err, SBR_E_INVALID, "language", "--code needs --lang NAME");
    if (own->write && !text)
        return err_set(err, SBR_E_INVALID, "options",
                       "--write needs code: --lang NAME with --code TEXT, or with the text on "
                       "stdin");
    if ((own->commit && own->commit[0] == '-') || (own->since && own->since[0] == '-'))
        return err_set(err, SBR_E_INVALID, "options",
                       "a revision does not begin with a dash; name a commit, as in HEAD");
    if (own->since && !own->commit)
        return err_set(err, SBR_E_INVALID, "options", "--since goes with --commit");
    return 0;
}

static int name_language(const struct verify_input *in, sbr_error *err)
{
    const struct language *language = in->o->lang ? language_find(in->o->lang) : NULL;

    if (!in->o->lang)
        return 0;
    return language ? request_set_text(&in->o->request->language, language->name, err)
                    : err_set(err, SBR_E_NOT_FOUND, "language",
                              "there is no language '%.60s'; `sandbox-run languages` lists them",
                              in->o->lang);
}

int verify_files_collect(struct verify_input *in, sbr_error *err)
{
    sbr_request *req = in->o->request;

    if (check_words(in, err) < 0 || name_language(in, err) < 0)
        return err->code;
    if (in->own->staged || in->own->commit) {
        if (collect_from_git(in, err) < 0)
            return err->code;
    } else if (in->o->code || (in->o->lang && !in->o->n_positional)) {
        if (collect_text(in, err) < 0)
            return err->code;
    } else if (collect_given(in, err) < 0) {
        return err->code;
    }
    if (in->own->calls.n && in->files.n != 1)
        return err_set(err, SBR_E_INVALID, "options",
                       "--call needs one file, or --code; %zu files are checked", in->files.n);
    return in->project[0] && !req->project ? request_set_project(req, in->project, err) : 0;
}
