/* What a copy-on-write tree does not show: secrets by their names, patterns of the request, and
 * the lines of the tree's own .sandboxignore.
 *
 * A pattern is one of a .gitignore: `*`, `?` and `[...]` stay within one directory, `**` spans
 * directories, a slash at the end means directories only, a slash elsewhere ties the pattern to the
 * top of the tree, and without one it holds at any depth.  What is below an excluded directory is
 * excluded with it.  An included pattern wins over everything else. */
#ifndef MODEL_EXCLUDE_H
#define MODEL_EXCLUDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/string_list.h"

#define EXCLUDE_FILE ".sandboxignore"
#define EXCLUDE_FILE_MAX (64 * 1024)
#define EXCLUDE_MAX_PATTERNS 1000
#define EXCLUDE_LOOK_MAX (1 << 20)    /* bytes of a file that are searched for a secret */
#define EXCLUDE_LOOKED_MAX (32 << 20) /* of all of a tree: a file beyond them is left out */

/* The last three depend on the content of a file. */
enum exclude_answer {
    EXCLUDE_NO,
    EXCLUDE_YES,
    EXCLUDE_UNLESS_PUBLIC, /* unless it holds certificates or public keys, and nothing private */
    EXCLUDE_IF_TOKEN       /* if it has a token or a password for a registry */
};

struct exclude {
    const struct string_list *outs, *ins; /* of the request; borrowed */
    struct string_list ignored;           /* of EXCLUDE_FILE; `!` takes back an earlier line */
    uint64_t looked;                      /* bytes that were searched for secrets until now */
};

/* Messages call the pattern `word`. */
int exclude_check(const char *word, const char *pattern, sbr_error *err) must_check;
/* Takes the lines of a .sandboxignore. */
int exclude_read(struct exclude *rules, const char *text, size_t len, sbr_error *err) must_check;
void exclude_done(struct exclude *rules);

/* `path` is relative to the top of the tree. */
enum exclude_answer exclude_ask(const struct exclude *rules, const char *path, bool is_directory);
bool exclude_is_included(const struct exclude *rules, const char *path, bool is_directory);
/* True when an included pattern with a slash may match below an excluded directory. */
bool exclude_reaches_below(const struct exclude *rules, const char *path);
/* Whether a file with this beginning is excluded, for answers that depend on it.  `whole` is false
 * when the file goes on. */
bool exclude_by_content(enum exclude_answer answer, const char *data, size_t len, bool whole);

#endif
