#include "plan/live_object.h"

#include "base/err.h"

/* src/meson.build makes these. */
#define IMAGE(name)                                                                                \
    extern const unsigned char name##_image_start[], name##_image_end[];                           \
    extern const char name##_image_sum[]

IMAGE(live_linked);
IMAGE(live_loaded);
IMAGE(live_writing);
IMAGE(session_lua);

static const struct {
    const char *driver;
    const unsigned char *start, *end;
    const char *sum;
} objects[] = {
    { LIVE_OBJECT_LINKED, live_linked_image_start, live_linked_image_end, live_linked_image_sum },
    { LIVE_OBJECT_LOADED, live_loaded_image_start, live_loaded_image_end, live_loaded_image_sum },
    { LIVE_OBJECT_WRITING, live_writing_image_start, live_writing_image_end,
      live_writing_image_sum },
    { LIVE_OBJECT_LUA, session_lua_image_start, session_lua_image_end, session_lua_image_sum },
};

struct live_object live_object_find(const char *driver)
{
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(objects) && strcmp(driver, objects[i].driver) != 0)
        i++;
    return (struct live_object){ objects[i].start, (size_t)(objects[i].end - objects[i].start),
                                 objects[i].sum };
}
