/* The list that came out of a sandbox, as the tree that it is. */
#ifndef CHANGES_COMPARE_TREE_H
#define CHANGES_COMPARE_TREE_H

#include "changes/collected.h"
#include "model/changes.h"

#define TAKEN_END SIZE_MAX       /* no further entry */
#define TAKEN_TOP (SIZE_MAX - 1) /* the directory that holds the first */

struct taken_tree {
    const struct intake_list *list; /* borrowed */
    struct taken_links *links;
    size_t first;
};

/* Refuses a list in which something comes before the directory that it is in. */
int taken_tree_init(struct taken_tree *ret, const struct intake_list *list, sbr_error *err)
    must_check;
void taken_tree_done(struct taken_tree *tree);

/* What is in a directory, in the order of the list. */
size_t taken_first(const struct taken_tree *tree, size_t dir);
size_t taken_next(const struct taken_tree *tree, size_t index);

/* The last part of its path. */
const char *taken_name(const struct taken_tree *tree, size_t index);
/* NODE_NONE for marks and for what was not taken. */
struct node taken_node(const struct intake_entry *entry);

/* The names in a directory that stand for something. */
struct taken_names {
    const char **items;
    size_t n;
};

int taken_names_init(const struct taken_tree *tree, size_t dir,
                     struct taken_names *ret);                            /* -1 without memory */
bool taken_names_have(const struct taken_names *names, const char *name); /* NULL has none */
void taken_names_done(struct taken_names *names);

#endif
