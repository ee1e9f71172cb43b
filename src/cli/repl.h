/* `sandbox-run repl`: a prompt in front of a session.  The input gives cells, the screen shows what
 * became of them, and lines with a colon are for us. */
#ifndef CLI_REPL_H
#define CLI_REPL_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/display.h"
#include "sandboxrun.h"

struct repl_input; /* the line editor, or a plain reader of lines */

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
    struct repl_input *input;
    json_t *cells; /* {"code", "result"} of each that ran */
    bool over;     /* the user or the session has ended it */
    int status;    /* of the last cell */
    struct display display;
};

/* Input.  `language` names the history. */
int repl_input_open(struct repl *r, sbr_error *err) must_check;
/* The next line without its newline; the caller frees it.  *ret NULL: the input is over.
 * `more`: it goes on with a cell, whose text so far is `cell`, which pasted lines are added to.
 * `indent` stands in the line already.  1: the line was interrupted. */
int repl_input_line(struct repl *r, bool more, struct buf *cell, const char *indent, char **ret);
void repl_input_close(struct repl *r);

/* Asks the session; NULL and *err when it refuses.  The caller owns the answer. */
json_t *repl_ask(struct repl *r, json_t *take_request, sbr_error *err);
/* Executes a cell and shows what it does. */
int repl_execute(struct repl *r, const char *code, size_t len, sbr_error *err) must_check;

/* An interrupt is for the cell that runs, and ends the line at the prompt. */
void repl_watch_interrupts(void);
/* True for one that no cell got, until it is forgotten. */
bool repl_has_interrupt(void);
/* The line has been ended. */
void repl_forget_interrupt(void);

/* cmd_repl.c: a prompt of the session that the second word names; the exit status. */
int cmd_repl_attach(struct options *o);

/* A line with a colon. */
int repl_command(struct repl *r, const char *line, sbr_error *err) must_check;

#endif
