#include <stdlib.h>
#include <string.h>

#include "monitor/collect_reader.h"

#define FIRST_ROOM 64

const char *collect_list_path(const struct collect_list *list, size_t index)
{
    return list->text.data + list->items[index].path;
}

static int make_room(struct collect_list *list)
{
    size_t room = list->room ? 2 * list->room : FIRST_ROOM;
    struct collect_list_entry *items;

    if (list->n < list->room)
        return 0;
    items = reallocarray(list->items, room, sizeof(*items));
    if (!items)
        return -1;
    list->items = items;
    list->room = room;
    return 0;
}

int collect_list_add(struct collect_list *list, struct collect_list_entry entry, const char *path)
{
    if (!list->text.max)
        buf_init(&list->text, SIZE_MAX / 4);
    entry.path = list->text.len;
    if (make_room(list) < 0 || buf_add(&list->text, path, strlen(path) + 1) < 0)
        return -1;
    list->items[list->n++] = entry;
    return 0;
}

void collect_list_done(struct collect_list *list)
{
    free(list->items);
    buf_done(&list->text);
    *list = (struct collect_list){ 0 };
}
