#include "changes/collected_tree.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "changes"

struct collected_links {
    size_t parent, first, last, next;
};

const char *collected_name(const struct collected_tree *tree, size_t index)
{
    const char *path = collect_list_path(tree->list, index), *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Whether `path` is directly in the directory `dir`. */
static bool is_in(const char *dir, const char *path)
{
    size_t len = strlen(dir);

    return !strncmp(path, dir, len) && path[len] == '/' && path[len + 1] &&
           !strchr(path + len + 1, '/');
}

/* The directory of the next entry: `at` or one of those above it; COLLECTED_END when it is none of
 * them. */
static size_t parent_of(const struct collected_tree *tree, size_t at, const char *path)
{
    for (; at != COLLECTED_TOP; at = tree->links[at].parent)
        if (tree->list->items[at].kind == COLLECT_ENTER &&
            is_in(collect_list_path(tree->list, at), path))
            return at;
    return path[0] && !strchr(path, '/') ? COLLECTED_TOP : COLLECTED_END;
}

int collected_tree_init(struct collected_tree *ret, const struct collect_list *list, sbr_error *err)
{
    size_t last_at_top = COLLECTED_END, at = COLLECTED_TOP;

    *ret = (struct collected_tree){ .list = list, .first = COLLECTED_END };
    ret->links = calloc(list->n + 1, sizeof(ret->links[0]));
    if (!ret->links)
        return err_set_oom(err, STAGE);
    for (size_t i = 0; i < list->n; i++) {
        const char *path = collect_list_path(list, i);
        size_t parent = path[0] ? parent_of(ret, at, path) : COLLECTED_TOP, *first, *last;

        if (parent == COLLECTED_END)
            return err_set(err, SBR_E_BUG, STAGE,
                           "'%.200s' came before the directory that it is in", path);
        ret->links[i] =
            (struct collected_links){ parent, COLLECTED_END, COLLECTED_END, COLLECTED_END };
        if (!path[0]) /* the top itself */
            continue;
        first = parent == COLLECTED_TOP ? &ret->first : &ret->links[parent].first;
        last = parent == COLLECTED_TOP ? &last_at_top : &ret->links[parent].last;
        if (*first == COLLECTED_END)
            *first = i;
        else
            ret->links[*last].next = i;
        *last = i;
        at = i;
    }
    return 0;
}

void collected_tree_done(struct collected_tree *tree)
{
    free(tree->links);
    *tree = (struct collected_tree){ 0 };
}

size_t collected_first(const struct collected_tree *tree, size_t dir)
{
    return dir == COLLECTED_TOP ? tree->first : tree->links[dir].first;
}

size_t collected_next(const struct collected_tree *tree, size_t index)
{
    return tree->links[index].next;
}

struct node collected_node(const struct collect_list_entry *entry)
{
    static const enum node_kind kinds[] = {
        [COLLECT_ENTER] = NODE_DIR,   [COLLECT_FILE] = NODE_FILE,   [COLLECT_LINK] = NODE_LINK,
        [COLLECT_OTHER] = NODE_OTHER, [COLLECT_FAILED] = NODE_NONE,
    };
    enum node_kind kind = (size_t)entry->kind < ARRAY_LEN(kinds) ? kinds[entry->kind] : NODE_NONE;

    return (struct node){
        .kind = kind,
        .mode = kind == NODE_LINK ? 0777 : entry->mode & 07777,
        .size = kind == NODE_FILE || kind == NODE_LINK ? entry->size : 0,
        .mtime_ns = entry->mtime_ns,
    };
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int collected_names_init(const struct collected_tree *tree, size_t dir, struct collected_names *ret)
{
    size_t n = 0;

    for (size_t i = collected_first(tree, dir); i != COLLECTED_END; i = collected_next(tree, i))
        n++;
    *ret = (struct collected_names){ .items = calloc(n + 1, sizeof(ret->items[0])) };
    if (!ret->items)
        return -1;
    for (size_t i = collected_first(tree, dir); i != COLLECTED_END; i = collected_next(tree, i))
        if (tree->list->items[i].kind != COLLECT_GONE)
            ret->items[ret->n++] = collected_name(tree, i);
    qsort(ret->items, ret->n, sizeof(ret->items[0]), by_text);
    return 0;
}

bool collected_names_have(const struct collected_names *names, const char *name)
{
    return names && bsearch(&name, names->items, names->n, sizeof(names->items[0]), by_text);
}

void collected_names_done(struct collected_names *names)
{
    free(names->items);
    *names = (struct collected_names){ 0 };
}
