/* The one reader of JSON that somebody else wrote: a program, a project, a client or a registry.
 *
 * jansson takes up to 80 times a text's size in memory: `{},` is three bytes and 230 bytes of tree.
 * So the text is scanned first, without memory, and becomes a tree only within its bounds. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

struct json_bounds {
    size_t bytes;
    size_t values; /* each object, array, member and element counts */
    unsigned int depth;
};

/* A document that people write or that one reply holds: its tree takes at most about 25 MB. */
extern const struct json_bounds json_read_document;
/* A line of a protocol, a record of ours that others can reach: about 1 MB. */
extern const struct json_bounds json_read_line;

/* A text that this project wrote, of parts that were bounded when they were read: a result, an
 * answer of the supervisor, a record of the audit. */
extern const struct json_bounds json_read_answer;

/* 0, or SBR_E_INVALID with a sentence that names `what` ("the body") and the bound.  Does not look
 * whether the text is JSON; a text that is not counts at least as many values as jansson makes. */
int json_read_scan(const char *text, size_t len, const struct json_bounds *most, const char *what,
                   sbr_error *err) must_check;

/* The tree, which the caller gives back with json_decref.  NULL with *err, which says where the
 * text is not JSON; `err` may be NULL where nobody is told.  `flags` are jansson's. */
json_t *json_read(const char *text, size_t len, const struct json_bounds *most, size_t flags,
                  const char *what, sbr_error *err) must_check;

/* Calls `visit` for each element of the array `key` of the object that the text is.  One element at
 * a time is a tree, within `most`; other members are skipped unread.  Ends with the first result of
 * `visit` that is below 0, and returns it. */
typedef int json_visit(void *context, const json_t *element, sbr_error *err);
struct json_each {
    const char *key;
    const struct json_bounds *most; /* of an element */
    json_visit *visit;
    void *context;
    const char *what; /* an element, for errors */
};
int json_read_each(const char *text, size_t len, const struct json_each *each, sbr_error *err)
    must_check;

/* At most so many bytes take a text and its tree together. */
size_t json_read_memory(const char *text, size_t len);

/* A text of our own within json_read_answer.  NULL for what is none, and for no text. */
json_t *json_read_own(const char *text, size_t flags) must_check;

#endif
