/* The code of the programs in the audit, where the configuration has `audit: with-code`: lines of
 * JSON in STATE/audit-code.jsonl, which grows and goes with audit.jsonl.  A line of the audit has
 * the digest of its program, so that its chain covers the code too. */
#ifndef CONFIG_AUDIT_CODE_H
#define CONFIG_AUDIT_CODE_H

#include "base/sha256.h"
#include "model/request.h"

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
