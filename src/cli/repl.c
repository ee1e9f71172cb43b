/* The session behind a prompt: questions, cells, interrupts. */
#include "cli/repl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/scope.h"
#include "cli/session_actions.h"

static sbr_session *volatile running; /* for the handler; NULL: no cell runs */
static volatile sig_atomic_t pending; /* an interrupt before its cell ran */

static void on_interrupt(int number)
{
    (void)number;
    pending = 1;
    if (running)
        (void)sbr_session_interrupt(running);
}

bool repl_has_interrupt(void)
{
    return pending;
}

void repl_forget_interrupt(void)
{
    pending = 0;
}

/* Without SA_RESTART: an interrupt at the prompt ends the line. */
void repl_watch_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };

    (void)sigaction(SIGINT, &action, NULL);
}

json_t *repl_ask(struct repl *r, json_t *take_request, sbr_error *err)
{
    scoped_free char *request = json_dumps(take_request, JSON_COMPACT);
    scoped_free char *answer = NULL;

    json_decref(take_request);
    if (!request) {
        err_set_oom(err, "repl");
        return NULL;
    }
    if (sbr_session_call(r->session, request, &answer, err) < 0)
        return NULL;
    return json_read_own(answer, JSON_ALLOW_NUL);
}

/* A session that its cell ended: by `exit`, or because its kernel died. */
static bool is_over(const json_t *result)
{
    const char *session = json_string_value(json_object_get(result, "session"));

    return session && strcmp(session, "kept") != 0;
}

int repl_execute(struct repl *r, const char *code, size_t len, sbr_error *err)
{
    scoped_free char *json = NULL;
    json_t *result;
    int status;

    if (pending) { /* while the kernel was asked about the cell */
        pending = 0;
        return 0;
    }
    running = r->session;
    display_fit(&r->display, r->session);
    status = sbr_session_exec_in(r->session, r->second, code, len, 0,
                                 r->o->stream ? session_pass_line
                                 : r->o->json ? NULL
                                              : display_event,
                                 &r->display, &json, err);
    running = NULL;
    pending = 0;
    if (status < 0)
        return status;
    result = json_read_own(json, JSON_ALLOW_NUL);
    if (r->o->json && !r->o->stream)
        session_print_json(json);
    else if (!r->o->stream)
        display_result(&r->display, result);
    r->status = display_status(result);
    r->over = is_over(result);
    json_array_append_new(r->cells, json_pack("{s:s%, s:o}", "code", code, len, "result", result));
    return 0;
}
