/* Names that others execute: another spelling of the same name is the same. */
#include <ctype.h>
#include <limits.h>

#include "fuzz.h"
#include "model/executes.h"

/* In upper case, and with a character that is ignored before each name. */
static void respell(const char *path, char *to, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; path[i] && used + 5 < size; i++) {
        if (i == 0 || path[i - 1] == '/') {
            memcpy(to + used, "\xe2\x80\x8c", 3);
            used += 3;
        }
        to[used++] = (char)toupper((unsigned char)path[i]);
    }
    to[used] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path, other[2 * PATH_MAX];
    const char *what, *again;
    size_t start, ignored;

    if (size < 1)
        return 0;
    path = strndup((const char *)data + 1, size - 1);
    FUZZ_ASSERT(path);
    what = executes_path(path, (enum node_kind)(data[0] % N_NODE_KINDS), &start);
    FUZZ_ASSERT(!what || (what[0] && start <= strlen(path)));
    if (what && strcmp(what, "git directory") != 0 && strlen(path) < PATH_MAX / 4) {
        respell(path, other, sizeof(other));
        again = executes_path(other, (enum node_kind)(data[0] % N_NODE_KINDS), &ignored);
        FUZZ_ASSERT(again && !strcmp(again, what));
    }
    if (what) {
        const struct change c = { .op = CHANGE_CREATED,
                                  .path = path,
                                  .now = { .kind = (enum node_kind)(data[0] % N_NODE_KINDS) } };
        const char *name = path;

        if (c.now.kind != NODE_NONE && path[start])
            FUZZ_ASSERT(executes_is_named(&c, &name, 1) && !executes_is_named(&c, NULL, 0));
    }
    free(path);
    return 0;
}
