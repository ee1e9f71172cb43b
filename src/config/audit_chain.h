/* The files of the audit: chains of lines in the state directory.
 *
 * A chain is a file that is only appended to, NAME.  Each line has the hash of the one before it,
 * `prev`, and its own, `hash`, which is that of the line up to it.  A line that was changed,
 * removed or put in between breaks the chain.  A process that is killed while it writes leaves a
 * torn last line, which the next writer closes and leaves out of the chain.
 *
 * A file that is full becomes NAME.K, and K only ever rises.  The file after it begins with a line
 * that says how many lines were before it, so that those which retention removes are missed by
 * number (docs/decisions/0036-the-audit-is-a-chain.md). */
#ifndef CONFIG_AUDIT_CHAIN_H
#define CONFIG_AUDIT_CHAIN_H

#include "base/sha256.h"
#include "changes/state_dir.h"

#define AUDIT_LINE_MAX 4096
#define AUDIT_FILE_MAX (8ull << 20)
#define AUDIT_KEEP_ALL UINT64_MAX

enum audit_record {
    AUDIT_RUNS,    /* audit.jsonl, with the code of its programs beside it */
    AUDIT_REFUSED, /* audit-refused.jsonl: strangers can make it grow, so it displaces no run */
    N_AUDIT_RECORDS
};

/* The file exists and can be written to. */
int audit_chain_open(enum audit_record record, int *ret_fd, sbr_error *err) must_check;

/* `body` is an object without its last brace.  `code` NULL: none.  A full file makes room first,
 * and the oldest files go while all have more than `keep` bytes. */
int audit_chain_append(enum audit_record record, const char *body, const char *code, uint64_t keep,
                       sbr_error *err) must_check;

/* Removes files that are older than `seconds`, and the oldest beyond `keep` bytes. */
int audit_chain_retain(uint64_t seconds, uint64_t keep, sbr_error *err) must_check;

/* What audit_chain_verify found. */
struct audit_chain {
    uint64_t lines;     /* of the chain */
    uint64_t unchained; /* before it, from a version without one */
    uint64_t torn;      /* cut off by a kill; the chain goes past them */
    uint64_t gone;      /* before the oldest that is there: their files made room */
    bool gone_unknown;  /* some are gone, and a version that did not count removed them */
    uint64_t first_bad; /* number of the first line that breaks it, from 1; 0: it is whole */
    char head[SHA256_HEX_SIZE]; /* the last hash; to be kept elsewhere */
};
int audit_chain_verify(enum audit_record record, struct audit_chain *ret, sbr_error *err)
    must_check;

/* One line without its end; it may be damaged. */
typedef void audit_visit(void *context, const char *line, size_t len);
/* All lines, oldest first, however many they are. */
int audit_chain_read(enum audit_record record, audit_visit *visit, void *context, sbr_error *err)
    must_check;
/* All programs whose code was kept (config/audit_code.h), oldest first. */
int audit_chain_read_code(audit_visit *visit, void *context, sbr_error *err) must_check;

#endif
