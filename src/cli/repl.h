/* `sandbox-run repl`: a prompt in front of a session.  The input gives cells, the screen shows what
 * became of them, and lines with a colon are for us. */
#ifndef CLI_REPL_H
#define CLI_REPL_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/display.h"
#include "cli/options.h"
#include "sandboxrun.h"

struct repl_editor;

struct repl {
    struct options *o;
    sbr_session *session;
    char id[64];
    bool ours; /* it was made for this prompt, and ends with it */
    const char *language;
    char joined[64];    /* the language of a session that was there before */
    const char *own;    /* the session's own language */
    const char *second; /* the one that cells are for; NULL: the session's own */
    char spoken[64];
    struct repl_editor *editor; /* NULL: input comes line by line */
    bool dumb;                  /* from a terminal that can only print: with a prompt */
    json_t *cells;              /* {"code", "result"} of each that ran */
    bool over;                  /* the user or the session has ended it */
    bool ended;                 /* the session, by a cell */
    int status;                 /* of the last cell */
    struct display display;
};

/* Input.  At a terminal from an editor of cells (repl_editor.c), otherwise line by line. */
int repl_input_open(struct repl *r, sbr_error *err) must_check;
/* The next cell, or line with a colon, in `cell`; false: the input is over. */
bool repl_input_cell(struct repl *r, struct buf *cell);
void repl_input_close(struct repl *r);

/* repl_editor.c.  `editor` stays NULL when it cannot be. */
int repl_editor_open(struct repl *r, sbr_error *err) must_check;
bool repl_editor_cell(struct repl *r, struct buf *cell);
void repl_editor_close(struct repl *r);

/* What stands before the first line of a cell, and before the others. */
void repl_prompt(const struct repl *r, bool more, char *buf, size_t size);
/* Whether the kernel takes the code as it is; `indent` is for the line that follows otherwise. */
bool repl_is_complete(struct repl *r, const char *code, size_t len, char *indent, size_t size);
/* Asks the session; NULL and *err when it refuses.  The caller owns the answer. */
json_t *repl_ask(struct repl *r, json_t *take_request, sbr_error *err);
/* Executes a cell and shows what it does. */
int repl_execute(struct repl *r, const char *code, size_t len, sbr_error *err) must_check;

/* Cells can read what is typed, when there is a terminal. */
void repl_take_input(struct repl *r);

/* An interrupt is for the cell that runs, and ends the line at the prompt. */
void repl_watch_interrupts(void);
/* True for one that no cell got, until it is forgotten. */
bool repl_has_interrupt(void);
/* Waits for a line at the terminal; true: an interrupt came, maybe before the wait. */
bool repl_await_line(void);
/* The line has been ended. */
void repl_forget_interrupt(void);

/* cmd_repl.c: a prompt of the session that the second word names; the exit status. */
int cmd_repl_attach(struct options *o);

/* The i-th name of a line with a colon, without that; NULL: there are no more. */
const char *repl_command_name(size_t i);
/* A line with a colon. */
int repl_command(struct repl *r, const char *line, sbr_error *err) must_check;

/* `sandbox-run work.ipynb`: the cells of a notebook in a session of their own. */
int notebook_run(struct options *o);

#endif
