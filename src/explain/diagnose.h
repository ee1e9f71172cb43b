/* Finds the location and the cause of an error in the output of a tool or a program.  Pure: text
 * in, diagnosis out.  An untrusted program wrote the text: it is bounded, never trusted.
 *
 * The line that counts: in a compiler's output the first that a rule matches, because later ones
 * often follow from it; in a program's output the last, because the program survived the others. */
#ifndef EXPLAIN_DIAGNOSE_H
#define EXPLAIN_DIAGNOSE_H

#include "base/err.h"
#include "model/request.h"
#include "model/result.h"
#include "plan/language.h"

struct diagnose_input {
    const struct language *language;
    const char *text; /* all of stderr, or of a compiler's output; may be NULL when `len` is 0 */
    size_t len;
    bool compile;               /* from the compile or check stage */
    const sbr_request *request; /* for the lines of its files */
    const char *work;           /* the work directory inside, to remove from paths: "/work" */
    const char *driver;         /* directory of drivers, whose frames are ours; NULL: "/driver" */
    /* The program's directory on the host, and whether it holds a file; NULL: unknown. */
    const char *origin;
    bool (*is_beside)(const char *origin, const char *name);
    const char *main_file; /* relative; the file that holds the request's code */
    /* How it ended other than by an exit: the name of a signal or a verdict ("SIGSEGV",
     * "memory_limit"), or NULL.  When no line matches, rules see the line "ended by SIGSEGV". */
    const char *ending;
    /* The code starts at this line of a harness; 0: there is none. */
    unsigned int code_line;
    unsigned int code_lines;
};

/* NULL when no rule matches, or without memory.  The caller frees it with diagnosis_free(). */
struct diagnosis *diagnose(const struct diagnose_input *in);

#endif
