/* A list: a ring of links that stand in what they join.  Nothing is allocated, nothing can fail. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *next, *prev; /* to itself when it is alone */
};

#define link_owner(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void link_init(struct link *link)
{
    link->next = link->prev = link;
}

static inline bool link_is_alone(const struct link *link)
{
    return link->next == link;
}

/* Also for a link that is alone. */
static inline void link_remove(struct link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link_init(link);
}

/* `link` must be in no list. */
static inline void list_append(struct link *list, struct link *link)
{
    link->prev = list->prev;
    link->next = list;
    list->prev->next = link;
    list->prev = link;
}

static inline void list_prepend(struct link *list, struct link *link)
{
    list_append(list->next, link);
}

/* The body may remove the link that it is given.
 * NOLINTBEGIN(bugprone-macro-parentheses): `at` is declared here */
#define list_each(at, list)                                                                        \
    for (struct link *at = (list)->next, *at##_next = at->next; at != (list);                      \
         at = at##_next, at##_next = at->next)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
