/* sbr_session_notebook: the code cells of a notebook in a session. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "plan/language.h"
#include "sandboxrun.h"
#include "session/notebook.h"

#define NAME_SIZE 64

/* Jupyter writes "R" and "JavaScript", too. */
static const char *known_language(const char *name)
{
    const struct language *language;
    char lower[NAME_SIZE];
    size_t i;

    for (i = 0; name[i] && i + 1 < sizeof(lower); i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[i] = '\0';
    language = language_find(lower);
    return language ? language->name : NULL;
}

int sbr_notebook_language(const char *text, size_t len, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    const char *said, *name;
    json_t *book;

    if (!text || !ret)
        return err_set(e, SBR_E_INVALID, "notebook",
                       "give a notebook and a place for its language");
    book = notebook_load(text, len, e);
    if (!book)
        return e->code;
    said = notebook_language(book, known_language);
    name = said ? known_language(said) : NULL;
    *ret = name ? strdup(name) : NULL;
    if (!said)
        err_set(e, SBR_E_INVALID, "notebook",
                "the notebook does not say its language; name it with --lang");
    else if (!name)
        err_set(e, SBR_E_INVALID, "notebook",
                "the notebook is written in '%.60s', which is no language here; --lang names "
                "another one",
                said);
    else if (!*ret)
        err_set_oom(e, "notebook");
    json_decref(book);
    return *ret ? 0 : e->code;
}

struct notebook_run {
    sbr_session *session;
    sbr_session_line_fn *fn;
    void *context;
    json_t *results;
    size_t failed; /* the number of the cell that ended it; 0: none */
    bool lost;
};

static bool is_blank(const char *code)
{
    return !code[strspn(code, " \t\r\n")];
}

/* 1: the next one; 0: it ends here; negative: an error. */
static int run_cell(struct notebook_run *run, json_t *cell, sbr_error *err)
{
    const char *language = NULL;
    scoped_free char *code = notebook_source(cell, &language), *json = NULL;
    size_t number = json_array_size(run->results) + 1;
    const char *session;
    json_t *result;

    if (!code)
        return err_set_oom(err, "notebook");
    if (is_blank(code) || notebook_has_tag(cell, "skip-execution"))
        return 1;
    if (sbr_session_exec_in(run->session, language, code, strlen(code), 0, run->fn, run->context,
                            &json, err) < 0)
        return err->code;
    result = json_read_own(json, JSON_ALLOW_NUL);
    json_array_append_new(run->results, result);
    notebook_set_outputs(cell, result, (json_int_t)number);
    session = json_string_value(json_object_get(result, "session"));
    run->lost = session && strcmp(session, "kept") != 0;
    if (!json_is_true(json_object_get(result, "success")) &&
        !notebook_has_tag(cell, "raises-exception"))
        run->failed = number;
    return !run->failed && !run->lost;
}

static int run_cells(struct notebook_run *run, json_t *cells, sbr_error *err)
{
    json_t *cell;
    size_t i;
    int r = 1;

    json_array_foreach(cells, i, cell) {
        if (!notebook_is_code(cell))
            continue;
        r = run_cell(run, cell, err);
        if (r <= 0)
            break;
    }
    return r < 0 ? r : 0;
}

static char *report(const struct notebook_run *run)
{
    json_t *all =
        json_pack("{s:I, s:o, s:b, s:O}", "cells", (json_int_t)json_array_size(run->results),
                  "failed", run->failed ? json_integer((json_int_t)run->failed) : json_null(),
                  "lost", run->lost, "results", run->results);
    char *text = all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

    json_decref(all);
    return text;
}

/* NOLINTNEXTLINE(readability-function-size): as the public header has it */
int sbr_session_notebook(sbr_session *s, const char *text, size_t len, sbr_session_line_fn *fn,
                         void *context, char **ret, char **ret_book, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct notebook_run run = { .session = s, .fn = fn, .context = context };
    json_t *book;
    int r;

    if (!s || !text || !ret)
        return err_set(e, SBR_E_INVALID, "notebook",
                       "a notebook needs a session, a text and a place for its results");
    book = notebook_load(text, len, e);
    if (!book)
        return e->code;
    run.results = json_array();
    r = run_cells(&run, json_object_get(book, "cells"), e);
    if (r == 0) {
        *ret = report(&run);
        if (*ret && ret_book && !(*ret_book = notebook_dump(book))) {
            free(*ret);
            *ret = NULL;
        }
        if (!*ret)
            r = err_set_oom(e, "notebook");
    }
    json_decref(run.results);
    json_decref(book);
    return r;
}
