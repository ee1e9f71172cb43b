#include "base/string_list.h"

#include <stdlib.h>
#include <string.h>

int string_list_add(struct string_list *list, const char *text, sbr_error *err)
{
    char **grown = realloc(list->items, (list->n + 2) * sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "request");
    list->items = grown;
    grown[list->n] = strdup(text);
    if (!grown[list->n])
        return err_set_oom(err, "request");
    grown[++list->n] = NULL;
    return 0;
}

void string_list_done(struct string_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct string_list){ 0 };
}
