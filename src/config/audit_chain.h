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
#include "model/request.h"

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
/* All programs whose code was kept (audit_code.c), oldest first. */
int audit_chain_read_code(audit_visit *visit, void *context, sbr_error *err) must_check;

/* The files behind the chains of the audit (config/audit_chain.h): one that grows, and older ones
 * whose numbers rise. */
#define AUDIT_FILES_NAME_SIZE 48

/* The numbers of the older files, rising. */
struct audit_files {
    uint64_t *at;
    size_t n;
};

int audit_files_find(int dir_fd, const char *name, struct audit_files *ret, sbr_error *err)
    must_check;
void audit_files_done(struct audit_files *older);
#define scoped_audit_files __attribute__((cleanup(audit_files_done)))

const char *audit_files_name(enum audit_record record);
/* The name of one; number 0 is the file that grows. */
void audit_files_numbered(char path[AUDIT_FILES_NAME_SIZE], const char *name, uint64_t number);

/* A file that is full gets the next number, and the oldest go beyond `keep` bytes.  The caller has
 * the lock. */
int audit_files_rotate(int dir_fd, enum audit_record record, uint64_t keep, sbr_error *err)
    must_check;
/* Removes those older than `seconds`, and the oldest beyond `keep` bytes. */
int audit_files_retain(int dir_fd, enum audit_record record, uint64_t seconds, uint64_t keep,
                       sbr_error *err) must_check;

/* Each line of an open file; no line is longer than `longest`. */
int audit_files_visit(int fd, size_t longest, audit_visit *visit, void *context, sbr_error *err)
    must_check;

/* The code of the programs in the audit, where the configuration has `audit: with-code`: lines of
 * JSON in STATE/audit-code.jsonl, which grows and goes with audit.jsonl.  A line of the audit has
 * the digest of its program, so that its chain covers the code too. */
#define AUDIT_CODE_NAME "audit-code.jsonl"
#define AUDIT_CODE_FILE_MAX (64ull << 20)
#define AUDIT_CODE_MAX (1u << 20) /* of one program; of a longer one only the digest is kept */

/* What a digest is of: language, files, text and command of a run, or the text of a cell. */
struct audit_program {
    const char *language;
    const struct request_file *files;
    size_t n_files;
    const char *code;
    size_t code_len;
    const char *program; /* a file of the project, and its bytes */
    char *program_data;  /* owned; see audit_program_done */
    size_t program_len;
    struct string_list args; /* borrowed */
    bool is_cell;
};

/* Reads the program's file, if it has one. */
void audit_program_of(const sbr_request *req, struct audit_program *ret);
void audit_program_done(struct audit_program *p);
/* The same digest is the same program. */
void audit_program_digest(const struct audit_program *p, char hex[SHA256_HEX_SIZE]);
/* A line without its end; NULL: it is too long to be kept, or there is no memory. */
char *audit_program_line(const struct audit_program *p, const char *digest);

/* Appends the line; the caller has the lock of the audit. */
int audit_code_append(int dir_fd, const char *line, sbr_error *err) must_check;

#endif
