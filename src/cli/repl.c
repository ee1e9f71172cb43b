/* The session behind a prompt: questions, cells, interrupts. */
#include "cli/repl.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/text.h"
#include "cli/session_actions.h"

#define LINE_SIZE 4096 /* as the terminal collects at most */

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

bool repl_await_line(void)
{
    struct pollfd waiting = { .fd = STDIN_FILENO, .events = POLLIN };
    sigset_t interrupt, before;

    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    while (!pending && ppoll(&waiting, 1, NULL, &before) < 0 && errno == EINTR)
        ;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pending;
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

void repl_prompt(const struct repl *r, bool more, char *buf, size_t size)
{
    size_t len = strlen(r->language);

    if (more)
        snprintf(buf, size, "%*s> ", (int)(len > 3 ? len : 3), "...");
    else
        snprintf(buf, size, "%.60s> ", r->language);
}

bool repl_is_complete(struct repl *r, const char *code, size_t len, char *indent, size_t size)
{
    sbr_error ignored;
    json_t *answer = repl_ask(r,
                              json_pack("{s:s, s:s%, s:s*}", "op", "check", "code", code, len,
                                        "lang", r->second),
                              &ignored);
    const char *status = json_string_value(json_object_get(answer, "status"));
    const char *space =
        json_string_value(json_object_get(json_object_get(answer, "data"), "indent"));
    bool complete = !status || strcmp(status, "incomplete") != 0;

    snprintf(indent, size, "%s", !complete && space ? space : "");
    json_decref(answer);
    return complete;
}

/* Takes what is typed off the screen; false: it stays there. */
static bool hide(bool hidden, struct termios *before)
{
    struct termios now;

    if (!hidden || tcgetattr(STDIN_FILENO, before) < 0)
        return false;
    now = *before;
    now.c_lflag &= ~(tcflag_t)ECHO;
    return tcsetattr(STDIN_FILENO, TCSAFLUSH, &now) == 0;
}

/* A cell reads from stdin: the person at the terminal types a line for it. */
static int read_for_cell(void *context, const char *prompt, int hidden, char **ret)
{
    struct repl *r = context;
    struct termios before;
    char line[LINE_SIZE];
    bool is_hidden;
    ssize_t n = -1;

    display_text(&r->display, STDOUT_FILENO, prompt, strlen(prompt));
    is_hidden = hide(hidden, &before);
    while (!repl_await_line() && (n = read(STDIN_FILENO, line, sizeof(line))) < 0 && errno == EINTR)
        ;
    if (is_hidden) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
        display_text(&r->display, STDOUT_FILENO, "\n", 1);
    }
    if (pending || n < 0)
        return -1; /* the interrupt is on its way to the cell */
    if (n > 0 && line[n - 1] == '\n')
        n--;
    else if (n == 0)
        return 0;
    *ret = strndup(line, (size_t)n);
    return *ret && text_is_utf8(*ret, strlen(*ret)) ? 1 : 0;
}

void repl_take_input(struct repl *r)
{
    if (r->editor || r->dumb)
        sbr_session_set_reader(r->session, read_for_cell, r);
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
    r->over = r->ended = is_over(result);
    json_array_append_new(r->cells, json_pack("{s:s%, s:o}", "code", code, len, "result", result));
    return 0;
}
