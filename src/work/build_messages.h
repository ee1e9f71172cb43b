/* What compilers and build tools say: errors and warnings with their places.
 *
 * The output comes from inside a sandbox, so its writer may be hostile: the number of messages and
 * every text are bounded, and control characters are made visible. */
#ifndef WORK_BUILD_MESSAGES_H
#define WORK_BUILD_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct jsonw;

enum message_severity { MESSAGE_ERROR, MESSAGE_WARNING, MESSAGE_NOTE, N_MESSAGE_SEVERITIES };

struct build_message {
    enum message_severity severity;
    char *file; /* relative to the project where it lies in it; NULL: the message has no place */
    unsigned int line, column; /* 0: not said */
    char *text;
    char *code; /* the tool's own name for it, as E0308, TS2322 or -Wunused; NULL: none */
};

struct build_messages {
    struct build_message *items;
    size_t n;
    uint64_t dropped; /* beyond BUILD_MESSAGES_MOST */
};

#define BUILD_MESSAGES_MOST 1000
#define BUILD_MESSAGES_TEXT 500 /* bytes of a text; the rest is cut */

/* "error", "warning", "note" */
const char *build_message_severity_name(enum message_severity severity);
/* Adds the messages of GCC, Clang, ld, make, CMake, Meson, tsc, Go, Cargo, javac, Maven and Python;
 * each place and text once. */
int build_messages_read(const char *text, size_t len, struct build_messages *to, sbr_error *err)
    must_check;
size_t build_messages_count(const struct build_messages *messages, enum message_severity severity);
void build_messages_put_json(struct jsonw *j, const char *key,
                             const struct build_messages *messages);
void build_messages_done(struct build_messages *messages);

#endif
