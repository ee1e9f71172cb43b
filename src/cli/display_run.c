
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "cli/cli.h"
#include "cli/display.h"
#include "cli/session_actions.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "sandboxrun.h"

/* The program's text, which becomes the cell: --code, the only file, or a file of the project. */
static int take_code(sbr_request *req, char **ret, size_t *ret_len, sbr_error *err)
{
    if (req->code) {
        *ret = take_ptr(req->code);
        *ret_len = req->code_len;
        req->code_len = 0;
        return 0;
    }
    if (req->program) {
        int r = source_read_program(req, ret, ret_len, err);

        if (r == 0)
            r = err_set(err, SBR_E_NOT_FOUND, "program",
                        "there is no '%.200s' in the project, or it is a link", req->program);
        free(take_ptr(req->program));
        return r < 0 ? r : 0;
    }
    if (!req->n_files)
        return err_set(err, SBR_E_INVALID, "display",
                       "--display takes a program: a file, or --code");
    *ret_len = req->files[0].len;
    *ret = malloc(*ret_len + 1);
    if (!*ret)
        return err_set_oom(err, "display");
    memcpy(*ret, req->files[0].data, *ret_len);
    (*ret)[*ret_len] = '\0';
    return 0;
}

static int load(struct options *o, char **ret, size_t *ret_len, sbr_error *err)
{
    struct source source;

    if (source_load(o, &source, err) < 0)
        return err->code;
    if (o->request->args.n || o->stdin_path)
        return err_set(err, SBR_E_INVALID, "display",
                       "a program with --display has neither arguments nor stdin; leave --display "
                       "out");
    if (o->request->check || !o->request->language)
        return err_set(err, SBR_E_INVALID, "display", "--display shows a program that runs");
    if (settings_apply(o, err) < 0)
        return err->code;
    return take_code(o->request, ret, ret_len, err);
}

/* The session ends with its cell. */
static int run_cell(struct display *display, const struct session_cell *cell, sbr_error *err)
{
    const struct options *o = display->o;
    scoped_free char *made = NULL, *closed = NULL;
    sbr_error ignored;
    sbr_session *s = NULL;
    json_t *session;
    int r = sbr_session_create(o->request, NULL, &made, err);

    if (r < 0)
        return r;
    session = json_read_own(made, 0);
    if ((r = sbr_session_open(session_text(session, "id"), &s, err)) == 0)
        r = session_show_cell(s, cell, display, err);
    sbr_session_free(s);
    (void)!sbr_session_finish(session_text(session, "id"), &closed, &ignored);
    if (closed && !o->json && !o->stream)
        session_print_closed(closed, o);
    json_decref(session);
    return r;
}

int display_run(struct options *o)
{
    struct display display;
    scoped_free char *code = NULL;
    struct session_cell cell = { 0 };
    sbr_error err = { 0 };
    int r = load(o, &code, &cell.len, &err);

    cell.code = code;
    display_init(&display, o);
    display.language = o->request->language;
    if (r == 0)
        r = run_cell(&display, &cell, &err);
    display_done(&display);
    settings_retain(o);
    return r < 0 ? cli_fail(o, &err) : r;
}
