/* Changes to a tree that another program of the user executes, or trusts as its settings: a hook of
 * git, a task of an editor, a workflow of CI.  Applying one lets the sandbox's program act outside
 * as soon as the user does something that looks harmless.  Pure. */
#ifndef MODEL_EXECUTES_H
#define MODEL_EXECUTES_H

#include <jansson.h>

#include "model/changes.h"
#include "model/limits.h"
#include "model/network.h"

/* What a path is for those who execute it ("git hook"), or NULL.  *ret_start is where the part that
 * makes it so begins.  `kind` is of what stands there now, or stood there.  Spellings that a file
 * system without case, or one of another system, takes for the same name count as well. */
const char *executes_path(const char *path, enum node_kind kind, size_t *ret_start);

/* The same for a change: either of its paths, or something that stood there and becomes executable,
 * with new contents or without.  NULL: it is applied as any other. */
const char *executes_change(const struct change *c);

/* A file that git itself keeps in `.git`, such as an object, a reference or the index, and that
 * nobody executes. */
bool executes_is_bookkeeping(const struct change *c);

/* What a person should know of a change that is applied as any other, or NULL: a new file that is
 * executable from the start. */
const char *executes_mark(const struct change *c);

/* Whether one of `names` means this very change, or none has to, because nothing executes it.  A
 * name reaches at least into what makes the change special: "src" does not stand for "src/.envrc",
 * and ".git" does for ".git/hooks/pre-commit". */
bool executes_is_named(const struct change *c, const char *const *names, size_t n);

/* The form {"command", "config", "files"}: a line of shell, with a configuration of few words.  It
 * is made into the JSON of a request, and checked as such. */

/* What the caller may have at most: defaults yield to it, and what is asked for does not. */
struct execute_most {
    uint64_t limits[N_LIMITS]; /* LIMIT_NONE: nothing bounds it */
    enum network_mode network;
};

/* NULL: *err says why.  `most` NULL: no bounds. */
json_t *execute_request(const json_t *body, const struct execute_most *most, sbr_error *err);
/* {"exitCode", "stdout", "stderr", "duration", "resourceUsage"}; NULL without memory. */
json_t *execute_answer(const json_t *result);

#endif
