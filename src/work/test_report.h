/* What a test runner reported: cases, whatever the runner's own form.
 *
 * Reports come from inside a sandbox, so their writer may be hostile: every text is bounded, and a
 * report that is broken is an error that says where. */
#ifndef WORK_TEST_REPORT_H
#define WORK_TEST_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;
struct jsonw;

enum case_outcome { CASE_PASSED, CASE_FAILED, CASE_SKIPPED, CASE_BROKEN, N_CASE_OUTCOMES };

struct report_case {
    char *name;    /* as the runner writes it, with its group: `tests.test_a::test_x` */
    char *message; /* of a failure or a skip; NULL: none */
    char *denial;  /* what the sandbox had to do with a failure, and which option it wants */
    char *file;    /* NULL: the report does not say */
    unsigned int line;
    uint64_t time_us;
    bool timed; /* the report has a time */
    enum case_outcome outcome;
    unsigned int runs, failures; /* of a report that test_report_merge added others to */
};

struct report {
    struct report_case *cases;
    size_t n;
    /* Where a name is: a hash table with a key that the report's writer cannot know. */
    uint32_t *slots; /* the number of a case, plus one; 0: free */
    size_t n_slots;
    uint64_t key;
    size_t bytes; /* of names, places and messages */
};

#define REPORT_MOST_CASES 100000
#define REPORT_MOST_TEXT 4000                /* of a name or a message; the rest is cut */
#define REPORT_MOST_BYTES ((size_t)24 << 20) /* of all texts */
#define REPORT_MOST_WORDS ((size_t)16 << 20) /* with so many, no place or message is added */

/* "passed", "failed", "skipped", "error" */
const char *test_report_outcome_name(enum case_outcome outcome);
/* NULL with an error: there are too many cases, their names are too long together, or no memory. */
struct report_case *test_report_add(struct report *r, const char *group, const char *name,
                                    sbr_error *err);
/* Sets the message unless there is one; control characters but newlines are made visible.  Beyond
 * REPORT_MOST_WORDS the message says that it was left out. */
int test_report_set_message(struct report *r, struct report_case *c, const char *text, size_t len,
                            sbr_error *err);
/* Sets where the case stands, unless that is known; a lack of memory leaves it out. */
void test_report_set_place(struct report *r, struct report_case *c, const char *file, size_t len,
                           unsigned long line);
/* The last case of this name, or NULL. */
struct report_case *test_report_find(struct report *r, const char *name);
/* Adds the cases of a further run of the same tests: a case that failed once has failed. */
int test_report_merge(struct report *to, const struct report *from, sbr_error *err) must_check;
/* True for a case that failed in some of its runs and not in all. */
bool test_report_is_flaky(const struct report_case *c);
size_t test_report_count(const struct report *r, enum case_outcome outcome);
void test_report_done(struct report *r);

/* One for each form; the text is not changed. */
typedef int test_report_parse_fn(const char *text, size_t len, struct report *r, sbr_error *err);
test_report_parse_fn test_report_parse_junit, test_report_parse_tap, test_report_parse_go,
    test_report_parse_cargo, test_report_parse_unittest, test_report_parse_jest;

void test_report_put_json(struct jsonw *j, const char *key, const struct report *r);
int test_report_write_junit(const struct report *r, const char *suite, struct buf *out);
int test_report_write_tap(const struct report *r, struct buf *out);

#endif
