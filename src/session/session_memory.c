#include "session/session_memory.h"

#include <jansson.h>

#include "base/json_read.h"
#include "session/session_dir.h"

static uint64_t limit_of(const struct session_dir *dir)
{
    scoped_free char *text = session_dir_is_alive(dir) ? session_dir_read(dir, SESSION_META) : NULL;
    json_t *meta = json_read_own(text, 0);
    json_int_t bytes = json_integer_value(json_object_get(meta, SESSION_META_MEMORY));

    json_decref(meta);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static int add(void *context, const struct session_dir *dir)
{
    *(uint64_t *)context += limit_of(dir);
    return 0;
}

uint64_t session_memory_of_all(void)
{
    uint64_t sum = 0;
    sbr_error ignored; /* a directory that cannot be read has no session that anyone can use */

    (void)!session_dir_each(add, &sum, &ignored);
    return sum;
}

uint64_t session_memory_of(const char *id)
{
    struct session_dir dir = SESSION_DIR_NONE;
    sbr_error ignored;
    uint64_t bytes;

    if (session_dir_open(id, &dir, &ignored) < 0)
        return 0;
    bytes = limit_of(&dir);
    session_dir_close(&dir);
    return bytes;
}

bool session_memory_is_alive(const char *id)
{
    struct session_dir dir = SESSION_DIR_NONE;
    sbr_error ignored;
    bool alive;

    if (session_dir_open(id, &dir, &ignored) < 0)
        return false;
    alive = session_dir_is_alive(&dir);
    session_dir_close(&dir);
    return alive;
}
