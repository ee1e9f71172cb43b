#include "work/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "plan/language.h"
#include "work/verify_parts.h"

static const char *const checks[] = { "syntax", "types",    "lint", "tests",
                                      "golden", "examples", "calls" };

const char *verify_check_word(size_t i)
{
    return i < ARRAY_LEN(checks) ? checks[i] : NULL;
}

static int check_skips(const sbr_verify *how, sbr_error *err)
{
    for (const char *const *word = how->skip; word && *word; word++) {
        size_t k = 0;

        while (verify_check_word(k) && strcmp(verify_check_word(k), *word) != 0)
            k++;
        if (!verify_check_word(k))
            return err_set(err, SBR_E_INVALID, "verify",
                           "there is no check '%.40s' to skip; give syntax, types, lint, tests, "
                           "golden, examples or calls",
                           *word);
    }
    return 0;
}

static int check(const sbr_request *base, const sbr_verify *how, sbr_error *err)
{
    if (how->struct_size != sizeof(*how))
        return err_set(err, SBR_E_INVALID, "verify", "struct_size of the verification is not set");
    if (base->workspace)
        return err_set(err, SBR_E_INVALID, "verify",
                       "what a workspace has is not looked at; give the files, or a project");
    if (base->keep || base->diff || base->outputs.n)
        return err_set(err, SBR_E_INVALID, "verify",
                       "checks leave nothing to keep, to compare or to copy out; leave it out");
    if (base->code && !base->language)
        return err_set(err, SBR_E_INVALID, "verify", "code needs its language");
    if (base->args.n)
        return err_set(err, SBR_E_INVALID, "verify",
                       "checks take no arguments; what has to be true is a call");
    return check_skips(how, err);
}

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

static int bring(struct verification *v, const char *path, const char *data, size_t len,
                 sbr_error *err)
{
    struct verify_file *file = add_file(v, path, err);

    if (!file)
        return err->code;
    file->is_brought = true;
    file->data = malloc(len + 1);
    if (!file->data)
        return err_set_oom(err, "verify");
    if (len)
        memcpy(file->data, data, len);
    file->data[len] = '\0';
    file->len = len;
    return 0;
}

static int bring_all(struct verification *v, const struct language *named, sbr_error *err)
{
    const sbr_request *base = v->base;

    if (base->code && bring(v, named->source, base->code, base->code_len, err) < 0)
        return err->code;
    for (size_t i = 0; i < base->n_files; i++) {
        const struct request_file *file = &base->files[i];

        if (bring(v, file->path, file->data, file->len, err) < 0)
            return err->code;
        v->files[v->n_files - 1].executable = file->executable;
    }
    return 0;
}

static struct verify_file *find_file(struct verification *v, const char *path)
{
    for (size_t i = 0; i < v->n_files; i++)
        if (!strcmp(v->files[i].path, path))
            return &v->files[i];
    return NULL;
}

static int choose_named(struct verification *v, const struct language *named, sbr_error *err)
{
    for (const char *const *path = v->how->files; *path; path++) {
        struct verify_file *file = find_file(v, *path);

        if (!file && (v->tree.fd < 0 || !text_is_safe_relative_path(*path, REQUEST_MAX_PATH)))
            return err_set(err, SBR_E_INVALID, "verify",
                           "'%.200s' is none of the files; give the path of one in the request%s",
                           *path, v->tree.fd < 0 ? "" : " or in the project");
        if (!file)
            file = add_file(v, *path, err);
        if (!file)
            return err->code;
        file->is_checked = true;
        if (named)
            file->language = named;
    }
    return 0;
}

/* Which files are checked.  A language that is named holds for those that are named, otherwise for
 * the first, which is the program. */
static int choose_files(struct verification *v, const struct language *named, sbr_error *err)
{
    if (v->how->files)
        return choose_named(v, named, err);
    if (named && v->n_files)
        v->files[0].language = named;
    for (size_t i = 0; i < v->n_files; i++)
        v->files[i].is_checked = v->files[i].language != NULL;
    return 0;
}

/* Names of files are words of the checkers' command lines. */
static int check_names(const struct verification *v, sbr_error *err)
{
    for (size_t i = 0; i < v->n_files; i++)
        if (v->files[i].is_checked && v->files[i].path[0] == '-')
            return err_set(err, SBR_E_INVALID, "verify",
                           "the name '%.200s' would be an option for the checkers; take another",
                           v->files[i].path);
    return 0;
}

static int read_calls(struct verification *v, sbr_error *err)
{
    size_t checked = 0;

    for (size_t i = 0; i < v->n_files; i++)
        checked += v->files[i].is_checked;
    if (v->how->calls && *v->how->calls && checked != 1)
        return err_set(err, SBR_E_INVALID, "verify",
                       "calls need one file to make them in; %zu are checked", checked);
    for (const char *const *line = v->how->calls; line && *line; line++)
        if (calls_add(&v->calls, *line, err) < 0)
            return err->code;
    return 0;
}

static int open_project(struct verification *v, sbr_error *err)
{
    if (!v->base->project)
        return 0;
    return project_file_begin(v->base->project, v->base, "verify", &v->tree, err);
}

int verify_run(sbr_runtime *rt, const sbr_request *base, const sbr_verify *how,
               const struct verify_hooks *hooks, struct verification *ret, sbr_error *err)
{
    const struct language *named = NULL;

    *ret = (struct verification){
        .rt = rt, .base = base, .how = how, .hooks = hooks, .tree = { .fd = -1 }
    };
    if (check(base, how, err) < 0 ||
        (base->language && language_resolve(base->language, &named, err) < 0) ||
        open_project(ret, err) < 0 || bring_all(ret, named, err) < 0 ||
        choose_files(ret, named, err) < 0 || check_names(ret, err) < 0 || read_calls(ret, err) < 0)
        return err->code;
    if (!base->project && !ret->n_files)
        return err_set(err, SBR_E_INVALID, "verify",
                       "there is no code to check; give some, or "
                       "files, or a project");
    return verify_run_steps(ret, err);
}

void verify_done(struct verification *v)
{
    for (size_t i = 0; i < v->n_files; i++) {
        free(v->files[i].path);
        free(v->files[i].data);
    }
    for (size_t i = 0; i < v->n_steps; i++) {
        free(v->steps[i].tool);
        free(v->steps[i].file);
        free(v->steps[i].reason);
        free(v->steps[i].output);
        test_report_done(&v->steps[i].report);
    }
    free(v->files);
    free(v->steps);
    calls_done(&v->calls);
    project_file_end(&v->tree);
    *v = (struct verification){ .tree = { .fd = -1 } };
}

int sbr_verify_run(sbr_runtime *rt, const sbr_request *base, const sbr_verify *how, char **ret,
                   sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct verification v;
    struct jsonw j;
    int r;

    if (!rt || !base || !how || !ret)
        return err_set(e, SBR_E_INVALID, "verify", "an argument is missing");
    r = verify_run(rt, base, how, NULL, &v, e);
    if (r == 0) {
        jsonw_init(&j, false);
        verify_put_json(&j, &v, NULL);
        *ret = jsonw_take(&j);
    }
    verify_done(&v);
    return r < 0 ? r : *ret ? 0 : err_set_oom(e, "verify");
}
