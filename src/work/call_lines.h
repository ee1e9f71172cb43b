/* What code without tests is held against: lines such as `f(2, 3) == 5`, and the examples that its
 * own comments have. */
#ifndef WORK_CALL_LINES_H
#define WORK_CALL_LINES_H

#include "work/test_runner.h"

struct buf;

struct call {
    char *text;
    char *left, *right; /* of `==`; `right` NULL: the line has to be true */
};

struct calls {
    struct call *items;
    size_t n;
};

int calls_add(struct calls *calls, const char *text, sbr_error *err) must_check;
/* Adds `f(2) // => 5` of comments that begin with a star, as JSDoc has them. */
int calls_add_arrows(struct calls *calls, const char *code, size_t len, sbr_error *err) must_check;
void calls_done(struct calls *calls);

/* How a language does it. */
struct calls_way {
    const char *language;
    /* The command; words NULL: calls_append makes the program. */
    struct test_runner runner;
    /* The command's program, a file of /work; it gets the name of the code's file, then `examples`,
     * or `calls` and three words for each: text, left and right.  Without one, the command gets
     * the name alone. */
    const char *driver_name, *driver;
    const char *example; /* text that shows an example for the command, or NULL */
    bool arrows;         /* examples are those of calls_add_arrows */
    bool beside;         /* a file of tests beside the code makes the calls: call_go.h */
    enum calls_use { CALLS_OF_EXAMPLES = 1, CALLS_GIVEN = 2, CALLS_BOTH = 3 } use;
};

/* NULL: it cannot be done in this language; calls_languages has the names of those that can. */
const struct calls_way *calls_way_find(const char *language, enum calls_use use);
extern const char calls_languages[];
/* The code, and behind it what makes the calls and writes the report. */
int calls_append(const struct calls *calls, const char *code, size_t len, struct buf *out);

#endif
