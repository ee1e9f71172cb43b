/* Small trees for tests: made from lines, told as lines, and the changes that lead from one to
 * another. */
#ifndef TREE_FIXTURE_H
#define TREE_FIXTURE_H

#include "base/buf.h"
#include "model/changes.h"

/* A directory with `a` and `b` in it, and the state directory; all of it goes with
 * tree_place_remove. */
struct tree_place {
    char top[40];
    int top_fd;
};
void tree_place_make(struct tree_place *place);
void tree_place_remove(struct tree_place *place);
/* "TOP/NAME", in one of a few buffers that take turns. */
const char *tree_at(const struct tree_place *place, const char *name);
int tree_open(const struct tree_place *place, const char *name);

/* Lines: "d PATH MODE", "f PATH MODE CONTENT", "l PATH TEXT". */
void tree_make(const char *top, const char *lines);
/* The same lines, sorted; with `times`, also mtimes of files.  The caller frees it. */
char *tree_tell(const char *top, bool times);
void tree_copy(const char *from, const char *to);
void tree_write(const char *top, const char *path, const char *text);

/* What makes `a` into `b`; `contents` gets what apply needs of b. */
void tree_changes(const char *a, const char *b, struct changes *ret);
void tree_contents(const char *b, const struct changes *changes, const char *contents);

/* A pseudo-random tree of about `n` things, and changes to it in place. */
void tree_random(const char *top, unsigned int *seed, unsigned int n);
void tree_mutate(const char *top, unsigned int *seed, unsigned int n);

#endif
