/* Code without tests: examples of its comments, and the lines of --call. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/text.h"
#include "plan/language.h"
#include "work/call_go.h"
#include "work/verify_parts.h"

/* The words behind the driver: the file, what to do, and three for each call. */
static char **driver_words(const struct verify_file *file, const struct calls *calls)
{
    static char examples[] = "examples", of_calls[] = "calls", none[] = "";
    char **words = calloc(3 + 3 * calls->n, sizeof(*words));

    if (!words)
        return NULL;
    words[0] = file->path;
    words[1] = calls->n ? of_calls : examples;
    for (size_t i = 0; i < calls->n; i++) {
        words[2 + 3 * i] = calls->items[i].text;
        words[3 + 3 * i] = calls->items[i].left;
        words[4 + 3 * i] = calls->items[i].right ? calls->items[i].right : none;
    }
    return words;
}

/* The code with the calls behind it is the program; the file itself stays as it is. */
static int make_program(const struct verify_file *file, const struct calls *calls, sbr_request *req,
                        sbr_error *err)
{
    struct buf program;
    int r;

    buf_init(&program, REQUEST_MAX_BYTES);
    r = calls_append(calls, file->data, file->len, &program) < 0
            ? err_set_oom(err, "calls")
            : request_replace_file(req, 0, program.data, program.len, err);
    buf_done(&program);
    return r;
}

/* A file of the language's own tests beside the code, which makes the calls. */
static int add_beside(const struct verify_file *file, const struct calls *calls, sbr_request *req,
                      sbr_error *err)
{
    const char *slash = strrchr(file->path, '/');
    scoped_free char *path =
        text_format("%.*s" CALL_GO_FILE, slash ? (int)(slash + 1 - file->path) : 0, file->path);
    struct buf text;
    int r;

    buf_init(&text, REQUEST_MAX_BYTES);
    r = !path || call_go_write(calls, file->data, file->len, &text) < 0
            ? err_set_oom(err, "calls")
            : request_add_file(req, path, text.data, text.len, err);
    buf_done(&text);
    return r;
}

static int add_program(const struct calls_way *way, const struct verify_file *file,
                       const struct calls *calls, sbr_request *req, sbr_error *err)
{
    if (way->driver)
        return request_add_file(req, way->driver_name, way->driver, strlen(way->driver), err);
    if (way->beside)
        return add_beside(file, calls, req, err);
    return way->runner.words ? 0 : make_program(file, calls, req, err);
}

static int run_calls(struct verification *v, const struct calls_way *way, struct verify_file *file,
                     const struct calls *calls, sbr_error *err)
{
    const char *check = calls == &v->calls ? "calls" : "examples";
    struct verify_step *step = verify_step_add(v, check, file->language->name, file->path, err);
    scoped_free char **words = driver_words(file, calls);
    sbr_request *req = NULL;
    int r;

    if (!step || !words || verify_request(v, file, &req, err) < 0)
        return step && words ? err->code : err_set_oom(err, "calls");
    if (!way->driver)
        words[1] = NULL; /* the name of the file alone */
    r = add_program(way, file, calls, req, err);
    if (r == 0)
        r = verify_step_run(v, step, req, &way->runner, way->runner.words ? words : NULL, err);
    request_free(req);
    return r;
}

/* The examples that the comments of a file have, if it has any. */
static int run_examples(struct verification *v, struct verify_file *file, sbr_error *err)
{
    const struct calls_way *way = calls_way_find(file->language->name, CALLS_OF_EXAMPLES);
    struct calls calls = { 0 };
    int r = 0;

    if (!way || verify_load(v, file, err) < 0)
        return way ? err->code : 0;
    if (way->arrows)
        r = calls_add_arrows(&calls, file->data, file->len, err);
    if (r == 0 && (calls.n || (way->example &&
                               memmem(file->data, file->len, way->example, strlen(way->example)))))
        r = run_calls(v, way, file, &calls, err);
    calls_done(&calls);
    return r;
}

static int run_given_calls(struct verification *v, struct verify_file *file, sbr_error *err)
{
    const struct calls_way *way = calls_way_find(file->language->name, CALLS_GIVEN);

    if (!v->calls.n)
        return 0;
    if (!way)
        return err_set(err, SBR_E_UNSUPPORTED, "calls",
                       "calls cannot be checked in %s; they can in %s", file->language->name,
                       calls_languages);
    if (verify_load(v, file, err) < 0)
        return err->code;
    return run_calls(v, way, file, &v->calls, err);
}

int verify_run_code(struct verification *v, bool tested, sbr_error *err)
{
    for (size_t i = 0; i < v->n_files; i++) {
        struct verify_file *file = &v->files[i];

        if (!file->is_checked || !file->language)
            continue;
        if (!tested && !verify_skips(v, "examples") && run_examples(v, file, err) < 0)
            return err->code;
        if (!verify_skips(v, "calls") && run_given_calls(v, file, err) < 0)
            return err->code;
    }
    return 0;
}
