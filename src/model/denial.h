/* What was refused, by which rule, and what would allow it.  Denials only report: the refusal has
 * already happened when one is added. */
#ifndef MODEL_DENIAL_H
#define MODEL_DENIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/jsonw.h"

enum denial_kind {
    DENIAL_CONNECT, /* target: host:port, with the name where it is known */
    DENIAL_NAME,    /* a name that was not looked up */
    DENIAL_FILE,    /* a path outside the tree, or read-only */
    DENIAL_SYSCALL, /* target: the call, with the arguments that mattered */
    DENIAL_PROCESS,
    DENIAL_MEMORY,
    DENIAL_DISK,
    DENIAL_SECRET, /* a placeholder that was sent where its secret is not for */
    N_DENIAL_KINDS
};

const char *denial_kind_name(enum denial_kind kind); /* "connect", ... */

/* What refused it: a limit gives way to a higher one, a rule to another one.  The host: it was
 * allowed, and could not be had. */
enum denial_source { DENIAL_BY_RULE, DENIAL_BY_LIMIT, DENIAL_BY_HOST };

/* Plain data: it also stands in memory that sandbox-run-egress shares with its supervisor. */
struct denial {
    uint32_t kind; /* enum denial_kind */
    char target[280];
    char rule[160];   /* "network: none", "default.yaml: keys", "limits: pids 64" */
    char remedy[300]; /* an option to type, or a sentence; "": nothing would allow it */
    uint64_t count;
    uint32_t source; /* enum denial_source */
};

#define DENIALS_MAX 64

/* How the rule of a DENIAL_BY_HOST begins. */
#define DENIAL_HOST_RULE "allowed, but"
/* And one where the network was given back (NETWORK_CLOSE_NAME). */
#define DENIAL_CLOSED_RULE "network: closed"

/* The target of a lookup whose name is unknown. */
#define DENIAL_SOME_NAME "a name"

/* Gets every denial that is new to its list, at once. */
struct denials_watch {
    void (*added)(void *context, const struct denial *one); /* NULL: none */
    void *context;
};

struct denials {
    struct denials_watch watch;
    struct denial *items; /* NULL while empty */
    size_t n;
    uint64_t dropped; /* denials beyond DENIALS_MAX */
};

/* Adds `one`, or adds its count to the denial with the same kind, target and rule; without memory
 * only counts it.  Makes control characters and bytes that are not UTF-8 visible, as \x1b, because
 * the text comes from the program.  A text without a NUL, or one that grows too long by that, ends
 * in dots.  Drops a remedy that begins with an option and has characters special to a shell,
 * because users paste it. */
void denials_add(struct denials *denials, const struct denial *one);
/* Formats the target, then adds the denial. */
void denials_note(struct denials *denials, enum denial_kind kind, const char *rule,
                  const char *remedy, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Moves all denials of `from` to the end of `to`. */
void denials_merge(struct denials *to, struct denials *from);
void denials_done(struct denials *denials);
/* Writes "denials": [...] and, when some were dropped, "denials_dropped". */
void denials_put_json(struct jsonw *j, const struct denials *denials);

#endif
