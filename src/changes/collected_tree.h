/* The list that came out of a sandbox, as the tree that it is. */
#ifndef CHANGES_COLLECTED_TREE_H
#define CHANGES_COLLECTED_TREE_H

#include "model/changes.h"
#include "monitor/collect_reader.h"

#define COLLECTED_END SIZE_MAX       /* no further entry */
#define COLLECTED_TOP (SIZE_MAX - 1) /* the directory that holds the first */

struct collected_tree {
    const struct collect_list *list; /* borrowed */
    struct collected_links *links;
    size_t first;
};

/* Refuses a list in which something comes before its directory. */
int collected_tree_init(struct collected_tree *ret, const struct collect_list *list, sbr_error *err)
    must_check;
void collected_tree_done(struct collected_tree *tree);

/* The entries of a directory, in the order of the list. */
size_t collected_first(const struct collected_tree *tree, size_t dir);
size_t collected_next(const struct collected_tree *tree, size_t index);

/* The last part of its path. */
const char *collected_name(const struct collected_tree *tree, size_t index);
/* NODE_NONE for marks and for what was not collected. */
struct node collected_node(const struct collect_list_entry *entry);

/* The names in a directory, without marks of deletion. */
struct collected_names {
    const char **items;
    size_t n;
};

int collected_names_init(const struct collected_tree *tree, size_t dir,
                         struct collected_names *ret); /* -1 without memory */
bool collected_names_have(const struct collected_names *names,
                          const char *name); /* NULL has none */
void collected_names_done(struct collected_names *names);

/* What came out of the sandbox for one tree: a list, and the contents of files in a directory of
 * ours. */

/* The contents lie below `content_fd` under the paths of the list: files with mode 0600,
 * directories with 0700, links as links.  Only we can write there. */
struct collected {
    struct collect_list list;
    int content_fd; /* -1: there is none */
};

#endif
