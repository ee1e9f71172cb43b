/* `agent --ask`: what no rule allows waits for the person at the terminal, who may allow it once,
 * for this run or always.
 *
 * The program shares that terminal, so it can print whatever looks like a question, and it can have
 * the terminal send bytes that look like keys.  Three rules keep the decision with the person:
 *   (1) While a question is open the program stands still and none of its output passes; what it
 *       wrote before is on the screen before the question is drawn, on a cleared screen.
 *   (2) The question opens by a key that comes alone, and only while something waits.  Text
 *       that is pasted, and what a terminal answers to a query, comes in pieces of several bytes.
 *   (3) Two letters that are drawn by chance and shown half a second after the question allow it,
 *       with a figure that says for how long.  Nothing that is typed before, or that the program
 *       told the person to type, is an answer. */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "cli/options.h"
#include "cli/user_tty.h"
#include "lib/runner.h"
#include "model/denial.h"
#include "model/network.h"

#define ASK_KEY 0x1d /* Ctrl-] */
#define ASK_SECONDS EGRESS_HOLD_SECONDS
#define ASK_CODE 2 /* letters that allow, before the figure */

enum ask_stage {
    ASK_WATCHES, /* the program runs */
    ASK_OPENS,   /* the program stands still; the terminal still takes what it wrote */
    ASK_SHOWS,   /* the question is on the screen; keys are dropped */
    ASK_LISTENS, /* the letters are, too */
    ASK_REPORTS  /* what did not succeed; any key ends it */
};

enum ask_answer { ASK_OPEN, ASK_ALLOWED, ASK_REFUSED };

struct ask_question {
    struct host_rule rule; /* that would be added */
    char why[160];
    uint64_t until_us; /* not answered until then: refused */
    enum ask_answer answer;
    bool waits; /* a connection is held for it */
    bool said;  /* the person was told of it */
};

struct ask {
    const struct ask_calls *calls;
    struct user_tty *tty;
    int timer_fd;
    enum ask_stage stage;
    uint64_t since_us; /* of the stage */
    struct ask_question questions[DENIALS_MAX];
    size_t n;
    uint32_t seen, asked;     /* refusals of the way out, and what waits there */
    char hosts[2100];         /* the file of what is allowed always */
    bool reads_waiting;       /* the questions that come are of connections that wait */
    bool kept;                /* of ASK_REPORTS: it is allowed, but not always */
    bool no_more;             /* the person wants to be asked nothing */
    struct ask_question *now; /* of the stages after ASK_WATCHES */
    char code[ASK_CODE + 1];
    size_t typed;
    bool mistyped;
    uint32_t modes; /* that the program had switched */
    unsigned int rows, columns;
    bool noticed; /* a notice stands on the program's other screen */
    uint64_t noticed_s;
    sbr_error err; /* of ASK_REPORTS */
};

/* For the command line of a run, which does without all of this. */
struct ask_calls {
    /* Takes out the keys that are for us; the number that is left. */
    size_t (*keys)(struct ask *ask, char *data, size_t len);
    /* The timer may be due. */
    void (*look)(struct ask *ask);
    /* Gives the terminal back to the program, whatever is open. */
    void (*leave)(struct ask *ask);
};

int ask_init(struct ask *ask, sbr_error *err) must_check;
void ask_done(struct ask *ask);

/* ask_screen.c: what the person sees. */
void ask_screen_open(struct ask *ask);
void ask_screen_draw(struct ask *ask);
bool ask_screen_was_resized(const struct ask *ask);
void ask_screen_close(struct ask *ask);
/* Says what waits; `waiting` questions are open.  One line of the usual screen, as the program
 * would print it; on the other one, which the program draws again, the line at the top. */
void ask_screen_notice(struct ask *ask, struct ask_question *q, size_t waiting);
/* True when the program has to draw its screen again. */
bool ask_screen_clear_notice(struct ask *ask);

#endif
