/* Reads what a tool or a program said on its way out and finds the place and the cause.  Pure: text in,
 * diagnosis out.  What it reads was written by a stranger: it is bounded, never trusted.
 *
 * Which line counts: in a compiler's output the first that a rule knows, since later ones often
 * follow from it; in what a program wrote the last, since it may go on after the others. */
#ifndef EXPLAIN_DIAGNOSE_H
#define EXPLAIN_DIAGNOSE_H

#include "base/err.h"
#include "model/diagnosis.h"
#include "model/request.h"
#include "plan/language.h"

struct diagnose_input {
    const struct language *language;
    const char *text; /* all of stderr, or of a compiler's output; may be NULL when `len` is 0 */
    size_t len;
    bool compile;               /* from the compile or check stage                       */
    const sbr_request *request; /* for the lines of its files */
    const char *work;           /* the work directory inside, to take off paths: "/work" */
    const char *driver;         /* where drivers are, whose frames are ours; NULL: "/driver" */
    const char *main_file;      /* relative; the file that holds the request's code */
    /* How it ended other than by an exit: a signal's or a verdict's name ("SIGSEGV",
     * "memory_limit"), or NULL.  When no line of the text tells more, rules see it as the line
     * "ended by SIGSEGV". */
    const char *ending;
    /* The code stands in a harness from this line on; 0: there is none. */
    unsigned int code_line;
    unsigned int code_lines;
};

/* NULL when no rule matches, or without memory.  The caller gives it to diagnosis_free(). */
struct diagnosis *diagnose(const struct diagnose_input *in);

#endif
