/* The files behind the chains of the audit (config/audit_chain.h): one that grows, and older ones
 * whose numbers rise. */
#ifndef CONFIG_AUDIT_FILES_H
#define CONFIG_AUDIT_FILES_H

#include "config/audit_chain.h"

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

#endif
