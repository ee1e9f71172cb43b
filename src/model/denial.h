/* What was refused, by which rule, and what would allow it.  Telling, never deciding: whatever refuses has done so
 * already. */
#ifndef MODEL_DENIAL_H
#define MODEL_DENIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/jsonw.h"

enum denial_kind {
    DENIAL_CONNECT, /* target: host:port, the name where it is known   */
    DENIAL_NAME,    /* a name that was not looked up                   */
    DENIAL_FILE,    /* a path outside the tree, or read-only           */
    DENIAL_SYSCALL, /* target: the call, with what mattered of it       */
    DENIAL_PROCESS,
    DENIAL_MEMORY,
    DENIAL_DISK,
    N_DENIAL_KINDS
};

const char *denial_kind_name(enum denial_kind kind); /* "connect", ... */

/* What refused it: a limit gives way to a higher one, everything else to a rule. */
enum denial_source { DENIAL_BY_RULE, DENIAL_BY_LIMIT };

/* Plain data: it also stands in memory that sandbox-run-egress shares with its supervisor. */
struct denial {
    uint32_t kind; /* enum denial_kind */
    char target[280];
    char rule[160];   /* "network: none", "default.yaml: keys", "limits: pids 64"             */
    char remedy[300]; /* an option as it is typed, or a sentence; "": nothing would allow it */
    uint64_t count;
    uint32_t source; /* enum denial_source */
};

#define DENIALS_MAX 64

/* The target of a lookup that did not tell which name it was for. */
#define DENIAL_SOME_NAME "a name"

struct denials {
    struct denial *items; /* NULL until there is one */
    size_t n;
    uint64_t dropped; /* further ones that found no room */
};

/* Adds `one`, or its count to the one with the same kind, target and rule.  Without memory it is only counted.
 * Control characters and what is no UTF-8 are made visible, as \x1b: the text comes from the program.  A text without
 * a NUL, or one that grows too long by that, ends in dots.  A remedy that begins with an option and holds what a shell
 * would obey is left out: people paste it. */
void denials_add(struct denials *denials, const struct denial *one);
/* The usual way: formats the target. */
void denials_note(struct denials *denials, enum denial_kind kind, const char *rule,
                  const char *remedy, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Moves everything of `from` behind what is in `to`. */
void denials_merge(struct denials *to, struct denials *from);
void denials_done(struct denials *denials);
/* "denials": [...] and, when some found no room, "denials_dropped". */
void denials_put_json(struct jsonw *j, const struct denials *denials);

#endif
