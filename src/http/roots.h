/* Directories of the host that the operator has named for a tenant in the configuration.
 *
 * A request names a root by its name, never by its path, and a reply does the same.
 *   (1) A root that is only read can be followed by a path in it; no link on the way is followed.
 *   (2) A root that is written to is named as a whole: its programs could exchange a directory for
 *       a link between our look and the sandbox's.
 *   (3) For the same reason no root lies in one that is written to, nor the other way round. */
#ifndef HTTP_ROOTS_H
#define HTTP_ROOTS_H

#include <jansson.h>

#include "admit/grant.h"
#include "config/config.h"
#include "http/submission.h"

#define ROOTS_MAX 64
#define ROOTS_HIDDEN_MAX 8

struct root {
    char tenant[GRANT_TENANT_SIZE];
    char name[GRANT_TENANT_SIZE];
    char *path; /* absolute, without links */
    bool writable;
};

/* A place of the host that no reply names. */
struct hidden_place {
    char *path;
    const char *name; /* that stands for it */
    bool is_home;     /* programs have one, too */
};

struct roots {
    struct root at[ROOTS_MAX];
    size_t n;
    struct hidden_place hidden[ROOTS_HIDDEN_MAX]; /* the longest first */
    size_t n_hidden;
};

int roots_open(const struct config *config, struct roots *ret, sbr_error *err) must_check;
void roots_done(struct roots *roots);
/* A copy of the body in which names of roots are paths; NULL: a field names something else. */
json_t *roots_resolve(const struct roots *roots, const struct grant *tenant, const json_t *body,
                      struct refusal *fault);
/* Replaces paths of the tenant's roots, and of the gateway's own directories, in JSON by their
 * names, but not in output of programs.  Takes the text over. */
char *roots_hide(const struct roots *roots, const char *tenant, char *text);
/* The same in a message of MCP, whose clients know the paths of their roots.  The caller frees the
 * copy; NULL without memory. */
char *roots_hide_message(const struct roots *roots, const char *tenant, const char *text,
                         size_t len);
/* The same in a sentence. */
void roots_hide_in(const struct roots *roots, const char *tenant, char *text, size_t size);
/* A path of the host that a client of the tenant said by itself: the same path, which the caller
 * frees, if it is a directory in a root of the tenant, or NULL.  Paths elsewhere are not looked at,
 * so that the reply says nothing of them. */
char *roots_admit(const struct roots *roots, const char *tenant, const char *path);
/* Whether the tenant has a root at all, or one that is written to. */
bool roots_has(const struct roots *roots, const char *tenant, bool writable);
/* True when the tenant may write to this path of the host. */
bool roots_are_writable(const struct roots *roots, const char *tenant, const char *path);

#endif
