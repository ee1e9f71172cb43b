/* What `verify` checks: given files, what is staged or committed, or a text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/git_repo.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "cli/verify.h"
#include "plan/language.h"

#define MOST_EXCLUDED 900 /* of the 1000 patterns that a request may have */

static struct verify_file *add_file(struct verification *v, const char *path, sbr_error *err)
{
    struct verify_file *grown = reallocarray(v->files, v->n_files + 1, sizeof(*grown)), *file;

    if (grown)
        v->files = grown;
    file = grown ? &grown[v->n_files] : NULL;
    if (file)
        *file =
            (struct verify_file){ .path = strdup(path), .language = language_for_extension(path) };
    if (!file || !file->path) {
        err_set_oom(err, "verify");
        return NULL;
    }
    v->n_files++;
    return file;
}

static struct verify_file *find_file(struct verification *v, const char *path)
{
    for (size_t i = 0; i < v->n_files; i++)
        if (!strcmp(v->files[i].path, path))
            return &v->files[i];
    return NULL;
}

/* --lang names the language of what has none by its name. */
static int name_language(struct verification *v, struct verify_file *file, sbr_error *err)
{
    if (!v->o->lang)
        return 0;
    file->language = language_find(v->o->lang);
    return file->language ? 0
                          : err_set(err, SBR_E_NOT_FOUND, "language",
                                    "there is no language '%.60s'; `sandbox-run languages` lists "
                                    "them",
                                    v->o->lang);
}

/* The repository around the file or directory, unless --project names another. */
static void find_project(struct verification *v, const char *path)
{
    const char *name = strrchr(path, '/');
    scoped_free char *dir = NULL;
    struct stat st;

    if (v->o->request->project) {
        snprintf(v->project, sizeof(v->project), "%s", v->o->request->project);
        return;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        dir = strdup(path);
    else
        dir = name ? strndup(path, (size_t)(name - path) + 1) : strdup(".");
    if (!dir || !git_repo_find(dir, v->project))
        v->project[0] = '\0';
}

/* The path in the project; without one, the last part.  The file itself need not be there. */
static int path_inside(const struct verification *v, const char *path, char ret[PATH_MAX],
                       sbr_error *err)
{
    const char *name = strrchr(path, '/');
    scoped_free char *dir = NULL, *real = NULL;
    size_t len = strlen(v->project);

    name = name ? name + 1 : path;
    dir = strndup(path, (size_t)(name - path));
    real = realpath(dir && *dir ? dir : ".", NULL);
    if (!real)
        return err_set_errno(err, "verify", "cannot find the directory of '%.200s'", path);
    if (!v->project[0]) {
        snprintf(ret, PATH_MAX, "%s", name);
        return 0;
    }
    if (strncmp(real, v->project, len) != 0 || (real[len] && real[len] != '/'))
        return err_set(err, SBR_E_INVALID, "verify",
                       "'%.200s' is not in the project '%.200s'; check it by a call of its own",
                       path, v->project);
    snprintf(ret, PATH_MAX, "%s%s%s", real[len] ? real + len + 1 : "", real[len] ? "/" : "", name);
    return 0;
}

static int collect_given(struct verification *v, sbr_error *err)
{
    char inside[PATH_MAX];

    find_project(v, v->o->n_positional ? v->o->positional[0] : ".");
    if (!v->o->n_positional && !v->project[0] && !realpath(".", v->project))
        return err_set_errno(err, "verify", "cannot find the current directory");
    for (size_t i = 0; i < v->o->n_positional; i++) {
        const char *path = v->o->positional[i];
        struct verify_file *file;

        if (path_inside(v, path, inside, err) < 0 || !(file = add_file(v, inside, err)) ||
            name_language(v, file, err) < 0 ||
            source_read_path(path, &file->data, &file->len, err) < 0)
            return err->code;
        file->is_checked = true;
        if (!file->language)
            return err_set(err, SBR_E_INVALID, "language",
                           "cannot tell the language of '%.200s'; name it with --lang", path);
    }
    return 0;
}

static int collect_text(struct verification *v, sbr_error *err)
{
    const struct language *language = language_find(v->o->lang);
    const char *to = v->own->write;
    struct verify_file *file;
    char inside[PATH_MAX];

    if (!language)
        return err_set(err, SBR_E_NOT_FOUND, "language",
                       "there is no language '%.60s'; `sandbox-run languages` lists them",
                       v->o->lang);
    if (to)
        find_project(v, to);
    snprintf(inside, sizeof(inside), "%s", language->source);
    if ((to && path_inside(v, to, inside, err) < 0) || !(file = add_file(v, inside, err)))
        return err->code;
    file->language = language;
    file->is_checked = file->is_brought = true;
    if (!v->o->code)
        return fd_read_text(STDIN_FILENO, REQUEST_MAX_BYTES, &file->data, &file->len, err);
    file->len = strlen(v->o->code);
    file->data = strdup(v->o->code);
    return file->data ? 0 : err_set_oom(err, "verify");
}

/* A file that is only in the working tree is left out: a commit does not have it. */
static int leave_out(struct verification *v, const char *path, sbr_error *err)
{
    struct buf pattern;
    int r;

    if (v->excludes.n == MOST_EXCLUDED)
        return err_set(err, SBR_E_INVALID, "git",
                       "more than %d files are not tracked; add them to .gitignore", MOST_EXCLUDED);
    buf_init(&pattern, 4 * PATH_MAX);
    buf_add_text(&pattern, "/");
    for (; *path; path++) {
        if (strchr("*?[]\\! #", *path))
            buf_add_text(&pattern, "\\");
        buf_add(&pattern, path, 1);
    }
    r = pattern.failed ? err_set_oom(err, "git") : string_list_add(&v->excludes, pattern.data, err);
    buf_done(&pattern);
    return r;
}

static int bring(struct verification *v, const struct git_change *change, sbr_error *err)
{
    scoped_free char *object = strndup(change->object, change->object_len);
    const char *const words[] = { "cat-file", "blob", object, NULL };
    struct verify_file *file = find_file(v, change->path);

    if (!object)
        return err_set_oom(err, "git");
    if (!file)
        file = add_file(v, change->path, err);
    if (!file)
        return err->code;
    file->is_brought = true;
    file->executable = change->executable;
    return git_repo_ask(v->project, words, &file->data, &file->len, err);
}

/* What differs from the working files, and what only they have. */
static int bring_all(struct verification *v, const char *const *words, sbr_error *err)
{
    const char *const others[] = { "ls-files", "--others",    "--exclude-standard",
                                   "-z",       "--directory", "--no-empty-directory",
                                   NULL };
    scoped_free char *changes = NULL, *names = NULL;
    size_t len = 0, names_len = 0, at = 0;
    struct git_change change;
    const char *name;
    int r = 0;

    if (git_repo_ask(v->project, words, &changes, &len, err) < 0 ||
        git_repo_ask(v->project, others, &names, &names_len, err) < 0)
        return err->code;
    while (r == 0 && git_repo_next_change(changes, len, &at, &change)) {
        if (change.only_working)
            r = leave_out(v, change.path, err);
        else if (change.is_file)
            r = bring(v, &change, err);
    }
    for (at = 0; r == 0 && (name = git_repo_next_name(names, names_len, &at));)
        r = leave_out(v, name, err);
    return r;
}

/* No commit before: everything is new. */
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

/* --since, or the commit before; a commit without one, and a push of a new branch, is all new. */
static const char *find_since(const struct verification *v, char **parent)
{
    scoped_free char *word = text_format("%s^", v->own->commit ? v->own->commit : "");
    const char *const ask[] = { "rev-parse", "--verify", "--quiet", word, NULL };
    const char *since = v->own->since;
    size_t len = 0;
    sbr_error none;

    if (!since && v->own->commit && word && git_repo_ask(v->project, ask, parent, &len, &none) == 0)
        since = *parent;
    if (since == *parent && since)
        (*parent)[strcspn(since, "\n")] = '\0';
    return since && since[strspn(since, "0")] ? since : EMPTY_TREE;
}

static int collect_from_git(struct verification *v, sbr_error *err)
{
    const char *commit = v->own->commit;
    scoped_free char *parent = NULL;
    bool found = git_repo_find(".", v->project);
    const char *since = found ? find_since(v, &parent) : NULL;
    const char *const staged[] = { "diff",         "--cached", "--name-only", "--diff-filter=ACMRT",
                                   "--no-renames", "-z",       NULL };
    const char *const files[] = { "diff-files", "-z", "--no-renames", NULL };
    const char *const committed[] = { "diff-tree", "-r",  "--name-only", "--diff-filter=ACMRT",
                                      "-z",        since, commit,        "--",
                                      NULL };
    const char *const index[] = { "diff-index", "-z", "--no-renames", commit, "--", NULL };
    scoped_free char *names = NULL;
    size_t len = 0, at = 0;
    const char *name;

    if (!found)
        return err_set(err, SBR_E_INVALID, "git",
                       "this directory is in no git repository, so nothing is staged in it");
    if (git_repo_ask(v->project, commit ? committed : staged, &names, &len, err) < 0)
        return err->code;
    while ((name = git_repo_next_name(names, len, &at))) {
        struct verify_file *file = add_file(v, name, err);

        if (!file)
            return err->code;
        file->is_checked = true;
    }
    return bring_all(v, commit ? index : files, err);
}

static int check_words(const struct verification *v, sbr_error *err)
{
    const struct verify_options *own = v->own;
    bool text = v->o->code || (v->o->lang && !v->o->n_positional);
    bool git = own->staged || own->commit;

    if (text + git + (v->o->n_positional > 0) > 1 || (own->staged && own->commit))
        return err_set(err, SBR_E_INVALID, "options",
                       "give one of files, --code, --staged and --commit");
    if (v->o->code && !v->o->lang)
        return err_set(err, SBR_E_INVALID, "language", "--code needs --lang NAME");
    if (own->write && !text)
        return err_set(err, SBR_E_INVALID, "options",
                       "--write needs code: --lang NAME with --code TEXT, or with the text on "
                       "stdin");
    if (own->since && !own->commit)
        return err_set(err, SBR_E_INVALID, "options", "--since goes with --commit");
    return 0;
}

int verify_collect(struct verification *v, sbr_error *err)
{
    size_t checked = 0;

    if (check_words(v, err) < 0)
        return err->code;
    if (v->own->staged || v->own->commit) {
        if (collect_from_git(v, err) < 0)
            return err->code;
    } else if (v->o->code || (v->o->lang && !v->o->n_positional)) {
        if (collect_text(v, err) < 0)
            return err->code;
    } else if (collect_given(v, err) < 0) {
        return err->code;
    }
    for (size_t i = 0; i < v->n_files; i++)
        checked += v->files[i].is_checked;
    if (v->own->calls.n && checked != 1)
        return err_set(err, SBR_E_INVALID, "options",
                       "--call needs one file, or --code; %zu files are checked", checked);
    for (size_t i = 0; i < v->own->calls.n; i++)
        if (calls_add(&v->calls, v->own->calls.items[i], err) < 0)
            return err->code;
    return 0;
}

int verify_load(const struct verification *v, struct verify_file *file, sbr_error *err)
{
    scoped_free char *path = NULL;

    if (file->data)
        return 0;
    path = text_format("%s/%s", v->project, file->path);
    if (!path)
        return err_set_oom(err, "verify");
    return source_read_path(path, &file->data, &file->len, err);
}

static int put_file(sbr_request *req, const struct verify_file *file, sbr_error *err)
{
    if (request_add_file(req, file->path, file->data, file->len, err) < 0)
        return err->code;
    req->files[req->n_files - 1].executable = file->executable;
    return 0;
}

static int fill(struct verification *v, struct verify_file *first, bool alone, sbr_request *req,
                sbr_error *err)
{
    struct options as = *v->o;

    as.request = req;
    if (request_override(req, v->o->request, err) < 0 ||
        (v->project[0] && !req->project && !alone &&
         request_set_project(req, v->project, err) < 0) ||
        (first && (verify_load(v, first, err) < 0 || put_file(req, first, err) < 0)))
        return err->code;
    for (size_t i = 0; !alone && i < v->n_files; i++)
        if (&v->files[i] != first && v->files[i].is_brought && put_file(req, &v->files[i], err) < 0)
            return err->code;
    for (size_t i = 0; !alone && i < v->excludes.n; i++)
        if (request_add_exclude(req, v->excludes.items[i], err) < 0)
            return err->code;
    if (first && request_set_text(&req->language, first->language->name, err) < 0)
        return err->code;
    return settings_apply(&as, err);
}

static int make_request(struct verification *v, struct verify_file *first, bool alone,
                        sbr_request **ret, sbr_error *err)
{
    if (request_new(NULL, NULL, ret, err) < 0)
        return err->code;
    (*ret)->has_options = true;
    if (fill(v, first, alone, *ret, err) == 0)
        return 0;
    request_free(take_ptr(*ret));
    return err->code;
}

int verify_request(struct verification *v, struct verify_file *first, sbr_request **ret,
                   sbr_error *err)
{
    return make_request(v, first, false, ret, err);
}

int verify_request_alone(struct verification *v, struct verify_file *file, sbr_request **ret,
                         sbr_error *err)
{
    return make_request(v, file, true, ret, err);
}

void verify_files_done(struct verification *v)
{
    for (size_t i = 0; i < v->n_files; i++) {
        free(v->files[i].path);
        free(v->files[i].data);
    }
    free(v->files);
    string_list_done(&v->excludes);
    calls_done(&v->calls);
}
