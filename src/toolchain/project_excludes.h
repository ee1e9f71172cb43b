/* Finds what a tree of the user's leaves out: model/exclude.h has the rules. */
#ifndef TOOLCHAIN_PROJECT_EXCLUDES_H
#define TOOLCHAIN_PROJECT_EXCLUDES_H

#include "model/exclude.h"
#include "model/request.h"
#include "plan/planner.h"

#define PROJECT_EXCLUDES_MAX 4096

/* The rules of the request and of the tree's own file.  The caller calls exclude_done, also after
 * an error. */
int project_excludes_open(int tree_fd, const sbr_request *req, struct exclude *ret, sbr_error *err)
    must_check;
/* Whether the entry is left out.  Looks into a file only where the rules ask for it; one that
 * cannot be read is left out then. */
bool project_excludes_has(const struct exclude *rules, int dir_fd, const char *name,
                          const char *path, bool is_directory);

/* The same for a path of the tree, which is also left out with a directory above it. */
bool project_excludes_hides(const struct exclude *rules, int tree_fd, const char *path);

/* All of a tree, sorted by path; a link stands for what it leads to in the tree.  The files of the
 * request itself and its program are not left out: they were named.  The caller calls
 * project_excludes_done, also after an error. */
int project_excludes_find(int tree_fd, const sbr_request *req, struct plan_mask **ret,
                          size_t *ret_n, sbr_error *err) must_check;
void project_excludes_done(struct plan_mask *masks, size_t n);
/* True for a path that is among them, or below one. */
bool project_excludes_covers(const struct plan_mask *masks, size_t n, const char *path);
/* NULL: it is not among them. */
const struct plan_mask *project_excludes_at(const struct plan_mask *masks, size_t n,
                                            const char *path);

#endif
