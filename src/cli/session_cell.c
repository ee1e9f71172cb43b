/* One cell of a session: its events, its end, and Ctrl-C meanwhile. */
#include <signal.h>
#include <stdio.h>

#include "base/json_read.h"
#include "cli/session_actions.h"

void session_pass_line(void *context, const char *line, size_t len)
{
    (void)context;
    fwrite(line, 1, len, stdout);
    fputc('\n', stdout);
    fflush(stdout);
}

static sbr_session *volatile interrupted; /* for the handler */

static void interrupt(int number)
{
    (void)number;
    (void)sbr_session_interrupt(interrupted);
}

void session_watch_interrupt(sbr_session *s)
{
    struct sigaction action = { .sa_handler = s ? interrupt : SIG_DFL, .sa_flags = SA_RESTART };

    interrupted = s ? s : interrupted; /* the handler may still run */
    (void)sigaction(SIGINT, &action, NULL);
}

int session_show_cell(sbr_session *s, const struct session_cell *cell, struct display *display,
                      sbr_error *err)
{
    const struct options *o = display->o;
    sbr_session_line_fn *pass = o->stream ? session_pass_line : o->json ? NULL : display_event;
    scoped_free char *json = NULL;
    json_t *result;
    int r;

    session_watch_interrupt(s);
    if (cell->width)
        sbr_session_set_width(s, cell->width);
    else
        display_fit(display, s);
    r = sbr_session_exec_in(s, cell->language, cell->code, cell->len, cell->timeout_ms, pass,
                            display, &json, err);
    session_watch_interrupt(NULL);
    if (r < 0)
        return r;
    result = json_read_own(json, JSON_ALLOW_NUL);
    if (o->json && !o->stream)
        session_print_json(json);
    else if (!o->stream)
        display_result(display, result);
    r = display_status(result);
    json_decref(result);
    return r;
}
