/* batch FILE.jsonl | DIR: one request for each line, or for each program of a directory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/string_list.h"
#include "changes/given_trees.h"
#include "cli/batch.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "model/request_save.h"
#include "plan/language.h"
#include "work/results.h"

#define MOST_INPUT (4ULL << 30)

struct requests {
    struct batch_front *front;
    struct results results;
    char *text; /* of the lines; NULL: a directory */
    const char *at;
    struct string_list paths;
    uint64_t item; /* the last that was begun */
};

/* One request that runs. */
struct running {
    uint64_t item;
    char digest[RESULTS_DIGEST_SIZE];
    const char *name; /* NULL: none */
    sbr_request *req;
};

static void free_running(struct running *run)
{
    request_free(run->req);
    free(run);
}

/* The options of the command line on top, then the configuration for what is left open. */
static int complete(struct requests *r, sbr_request **req, sbr_error *err)
{
    struct options one = *r->front->o;

    if ((one.lang && request_set_text(&(*req)->language, one.lang, err) < 0) ||
        request_override(*req, one.request, err) < 0)
        return err->code;
    one.request = *req;
    one.quiet = r->item > 1; /* what the configuration has to say, it says once */
    if (settings_apply(&one, err) < 0)
        return err->code;
    *req = one.request;
    return 0;
}

static int make_from_file(const char *path, struct running *run, sbr_error *err)
{
    const struct language *language = language_for_extension(path);
    const char *slash = strrchr(path, '/');
    scoped_free char *data = NULL;
    size_t len = 0;

    run->name = slash ? slash + 1 : path;
    if (source_read_path(path, &data, &len, err) < 0 ||
        request_new(language->name, NULL, &run->req, err) < 0)
        return err->code;
    results_digest(data, len, run->digest);
    return request_add_file(run->req, run->name, data, len, err);
}

/* The next line that has something on it; NULL: there is none. */
static const char *next_line(struct requests *r, size_t *ret_len)
{
    while (r->at && *r->at) {
        const char *line = r->at, *end = strchr(line, '\n');

        *ret_len = end ? (size_t)(end - line) : strlen(line);
        r->at = end ? end + 1 : NULL;
        if (strspn(line, " \t\r") < *ret_len)
            return line;
    }
    return NULL;
}

/* 1: `run` is the next; 0: there is none; negative: it has a fault. */
static int make_next(struct requests *r, struct running *run, sbr_error *err)
{
    const char *line;
    size_t len;

    if (!r->text) {
        if (r->item == r->paths.n)
            return 0;
        run->item = ++r->item;
        return make_from_file(r->paths.items[run->item - 1], run, err) < 0 ? err->code : 1;
    }
    line = next_line(r, &len);
    if (!line)
        return 0;
    run->item = ++r->item;
    results_digest(line, len, run->digest);
    return sbr_request_from_json(line, len, &run->req, err) < 0 ? err->code : 1;
}

static void finish(struct requests *r, struct running *run, sbr_result *result,
                   const sbr_error *err)
{
    struct batch_front *front = r->front;
    scoped_free char *json = NULL;

    if (!batch_was_interrupted(front, result)) {
        json = batch_json(result, err);
        batch_count(front, result);
        if (!front->failure.code)
            (void)results_put(&r->results, run->item, run->digest, run->name, json,
                              &front->failure);
    }
    sbr_result_free(result);
    free_running(run);
}

static void done(void *context, void *item, sbr_result *result, const sbr_error *err)
{
    finish(context, item, result, err);
}

/* The next request that has no result yet. */
static int next(void *context, const sbr_request **ret, void **ret_item)
{
    struct requests *r = context;

    while (!r->front->failure.code) {
        struct running *run = calloc(1, sizeof(*run));
        sbr_error err = { 0 };
        int res = run ? make_next(r, run, &err) : err_set_oom(&r->front->failure, "batch");
        int had =
            res && run ? results_has(&r->results, run->item, run->digest, &r->front->failure) : 0;

        if (res == 1 && !had && complete(r, &run->req, &err) == 0) {
            *ret = run->req;
            *ret_item = run;
            return 1;
        }
        if (!run)
            break;
        r->front->skipped += had > 0;
        if (res && !had)
            finish(r, run, NULL, &err);
        else
            free_running(run);
        if (!res)
            break;
    }
    return 0;
}

static int list_programs(struct requests *r, const char *dir, sbr_error *err)
{
    scoped_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_listing struct listing list = { 0 };

    if (fd < 0 || listing_read(fd, &list) < 0)
        return err_set_errno(err, "batch", "cannot read '%.200s'", dir);
    for (size_t i = 0; i < list.n; i++) {
        scoped_free char *path = NULL;

        if (!language_for_extension(list.names[i]))
            continue;
        if (asprintf(&path, "%s/%s", dir, list.names[i]) < 0)
            return err_set_oom(err, "batch");
        if (string_list_add(&r->paths, path, err) < 0)
            return err->code;
    }
    r->front->total = r->paths.n;
    if (!r->paths.n)
        return err_set(err, SBR_E_NOT_FOUND, "batch",
                       "there is no program in '%.200s'; `sandbox-run languages` lists the endings "
                       "of their names",
                       dir);
    return 0;
}

static int read_lines(struct requests *r, const char *path, sbr_error *err)
{
    scoped_fd int fd = -1;
    size_t len = 0;

    if (!strcmp(path, "-")) {
        if (fd_read_text(STDIN_FILENO, MOST_INPUT, &r->text, &len, err) < 0)
            return err->code;
    } else {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            return err_set_errno(err, "batch", "cannot open '%.200s'", path);
        if (fd_read_text(fd, MOST_INPUT, &r->text, &len, err) < 0)
            return err->code;
    }
    if (strlen(r->text) < len)
        return err_set(err, SBR_E_INVALID, "batch",
                       "'%.200s' has a zero byte, so it is no file with JSON on each line", path);
    r->at = r->text;
    for (size_t n; next_line(r, &n);)
        r->front->total++;
    r->at = r->text;
    return 0;
}

static int open_input(struct requests *r, sbr_error *err)
{
    const struct options *o = r->front->o;
    struct stat st;

    if (o->n_positional == 2 && stat(o->positional[1], &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, SBR_E_INVALID, "options",
                       "to run '%.100s' with each case of '%.100s', write "
                       "`sandbox-run batch --cases DIR PROGRAM`",
                       o->positional[0], o->positional[1]);
    if (o->n_positional != 1 || o->rest || o->code || o->files.n || o->request_path)
        return err_set(
            err, SBR_E_INVALID, "options",
            "name one file with a request on each line, one directory of programs, or -; "
            "--cases DIR runs one program with many inputs");
    if (stat(o->positional[0], &st) == 0 && S_ISDIR(st.st_mode))
        return list_programs(r, o->positional[0], err);
    return read_lines(r, o->positional[0], err);
}

static int open_results(struct requests *r, sbr_error *err)
{
    const struct batch_options *own = r->front->own;
    scoped_save_trees struct save_trees trees = { 0 };

    if (own->results && (request_save_trees(r->front->o->request, &trees, err) < 0 ||
                         given_trees_find(NULL, &trees, err) < 0))
        return err->code;
    return results_open(own->results, &trees, !own->as_completed, &r->results, err);
}

int batch_run_requests(struct batch_front *front)
{
    struct requests r = { .front = front, .results.fd = -1 };
    sbr_batch batch = { .context = &r, .next = next, .done = done };
    sbr_error err;
    int status;

    front->noun = "item";
    front->nouns = "items";
    if (open_input(&r, &err) < 0 || open_results(&r, &err) < 0)
        status = cli_fail(front->o, &err);
    else
        status = batch_start(front, &batch, &r.results);
    results_done(&r.results);
    string_list_done(&r.paths);
    free(r.text);
    return status;
}
