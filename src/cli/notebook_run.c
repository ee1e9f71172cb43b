#include "cli/repl.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/save.h"
#include "changes/given_trees.h"
#include "cli/session_actions.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "model/request_save.h"

struct notebook {
    struct options *o;
    char *path, *text; /* as the file has it */
    size_t len;
    struct save_file file; /* with --update: held while its cells run */
    struct display display;
};

/* Events for a person; the last one of a cell has its result. */
static void show_line(void *context, const char *line, size_t len)
{
    struct notebook *book = context;
    json_t *event;

    if (book->o->stream) {
        session_pass_line(NULL, line, len);
        return;
    }
    if (book->o->json)
        return;
    display_event(&book->display, line, len);
    event = json_read(line, len, &json_read_answer, JSON_ALLOW_NUL, "the event", NULL);
    if (!strcmp(session_text(event, "type"), "end"))
        display_result(&book->display, json_object_get(event, "result"));
    json_decref(event);
}

/* The notebook may lie in a volume that its own cells write to. */
static int hold_file(struct notebook *book, sbr_error *err)
{
    scoped_save_trees struct save_trees trees = { .meant = true };

    if (!book->o->update)
        return 0;
    return request_save_trees(book->o->request, &trees, err) < 0 ||
                   given_trees_find(NULL, &trees, err) < 0
               ? err->code
               : save_file_open(&book->file, book->path, &trees, err);
}

static int load(struct notebook *book, sbr_error *err)
{
    scoped_free char *in_project = NULL, *language = NULL, *path = NULL;
    struct options *o = book->o;

    if (o->n_positional > 1 || (o->rest && *o->rest))
        return err_set(err, SBR_E_INVALID, "options", "a notebook takes no arguments");
    if (source_prefer_project(o, o->positional[0], &in_project, err) < 0)
        return err->code;
    path = in_project ? take_ptr(in_project) : strdup(o->positional[0]);
    if (!path)
        return err_set_oom(err, "notebook");
    if (source_read_path(path, &book->text, &book->len, err) < 0)
        return err->code;
    book->path = take_ptr(path);
    if (!o->lang && sbr_notebook_language(book->text, book->len, &language, err) < 0)
        return err->code;
    if (request_set_text(&o->request->language, o->lang ? o->lang : language, err) < 0 ||
        session_bring_files(o, err) < 0)
        return err->code;
    book->display.language = o->request->language;
    return settings_apply(o, err) < 0 ? err->code : hold_file(book, err);
}

/* Outputs go into the file that was executed, not into one that was edited meanwhile. */
static int write_back(struct notebook *book, const char *text, sbr_error *err)
{
    scoped_free char *now = NULL;
    size_t len;

    if (save_file_read(&book->file, REQUEST_MAX_BYTES, &now, &len, err) < 0)
        return err->code;
    if (len != book->len || memcmp(now, book->text, len) != 0)
        return err_set(err, SBR_E_BUSY, "notebook",
                       "'%.200s' was changed while its cells ran; it was left as it is",
                       book->path);
    return save_file_write(&book->file, text, strlen(text), err);
}

/* The exit status: that of the last cell. */
static int finish(const struct notebook *book, const char *json)
{
    json_t *report = json_read_own(json, JSON_ALLOW_NUL);
    const json_t *results = json_object_get(report, "results");
    const json_t *last = json_array_get(results, json_array_size(results) - 1);
    json_int_t failed = json_integer_value(json_object_get(report, "failed"));
    bool lost = json_is_true(json_object_get(report, "lost"));
    int status = last && (failed || lost) ? display_status(last) : 0;

    if (book->o->json && !book->o->stream)
        session_print_json(json);
    else if (failed && !book->o->stream && !book->o->quiet)
        fprintf(stderr, "sandbox-run: cell %lld of %s failed; those behind it were not executed\n",
                (long long)failed, book->path);
    json_decref(report);
    return status;
}

static int execute(struct notebook *book, const char *id, int *ret_status, sbr_error *err)
{
    scoped_free char *report = NULL, *updated = NULL;
    sbr_session *s = NULL;
    int r = sbr_session_open(id, &s, err);

    if (r == 0) {
        session_watch_interrupt(s);
        r = sbr_session_notebook(s, book->text, book->len, show_line, book, &report, &updated, err);
        session_watch_interrupt(NULL);
    }
    sbr_session_free(s);
    if (r == 0 && book->o->update)
        r = write_back(book, updated, err);
    if (r == 0)
        *ret_status = finish(book, report);
    return r;
}

/* The session ends with the notebook. */
static int run_in_session(struct notebook *book, int *ret_status, sbr_error *err)
{
    scoped_free char *made = NULL, *closed = NULL;
    sbr_error ignored;
    json_t *session;
    int r = sbr_session_create(book->o->request, NULL, &made, err);

    if (r < 0)
        return r;
    session = json_read_own(made, 0);
    r = execute(book, session_text(session, "id"), ret_status, err);
    if (sbr_session_finish(session_text(session, "id"), &closed, r < 0 ? &ignored : err) < 0 &&
        r == 0)
        r = err->code;
    if (closed && !book->o->json && !book->o->stream)
        session_print_closed(closed, book->o);
    json_decref(session);
    return r;
}

int notebook_run(struct options *o)
{
    struct notebook book = { .o = o, .file = SAVE_FILE_NONE };
    sbr_error err = { 0 };
    int status = 0, r;

    display_init(&book.display, o);
    r = load(&book, &err);
    if (r == 0)
        r = run_in_session(&book, &status, &err);
    display_done(&book.display);
    save_file_done(&book.file);
    free(book.text);
    free(book.path);
    settings_retain(o);
    return r < 0 ? cli_fail(o, &err) : status;
}
