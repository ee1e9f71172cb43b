#include "cli/not_inside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* Paths from the root are mostly those of the sandbox's own /usr. */
const char *not_inside_find(const struct options *o)
{
    if (!o->command->command_line || o->request->project || o->request->workspace || !o->rest)
        return NULL;
    for (char **word = o->rest; *word; word++)
        if (**word && **word != '-' && **word != '/' && strcmp(*word, ".") != 0 &&
            access(*word, F_OK) == 0)
            return *word;
    return NULL;
}

void not_inside_explain(const struct options *o, sbr_error *err)
{
    const char *word = err->code == SBR_E_NOT_FOUND ? not_inside_find(o) : NULL;
    size_t len = strlen(err->message);

    if (word)
        snprintf(err->message + len, sizeof(err->message) - len,
                 "; your directory has '%.100s' but is not inside: --project . brings it in", word);
}
