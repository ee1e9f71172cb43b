#include "plan/driver_object.h"

#include "base/err.h"

/* src/meson.build makes these. */
#define IMAGE(name)                                                                                \
    extern const unsigned char name##_image_start[], name##_image_end[];                           \
    extern const char name##_image_sum[], name##_image_name[]
#define OF(name) name##_image_start, name##_image_end, name##_image_sum, name##_image_name

IMAGE(live_linked);
IMAGE(live_loaded);
IMAGE(live_writing);
IMAGE(sampler);
IMAGE(bytecode);
IMAGE(session_lua);
IMAGE(session_copy);

static const struct {
    const char *driver;
    const char *dir;
    const unsigned char *start, *end;
    const char *sum, *file;
} objects[] = {
    { DRIVER_OBJECT_LINKED, NULL, OF(live_linked) },
    { DRIVER_OBJECT_LOADED, NULL, OF(live_loaded) },
    { DRIVER_OBJECT_WRITING, NULL, OF(live_writing) },
    { DRIVER_OBJECT_SAMPLER, NULL, OF(sampler) },
    { DRIVER_OBJECT_LUA, NULL, OF(session_lua) },
    { DRIVER_OBJECT_COPY, NULL, OF(session_copy) },
    /* Its name has the version of Python that reads it; others compile the source. */
    { DRIVER_OBJECT_BYTECODE, "__pycache__", OF(bytecode) },
};

struct driver_object driver_object_find(const char *driver)
{
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(objects) && strcmp(driver, objects[i].driver) != 0)
        i++;
    return (struct driver_object){ .dir = objects[i].dir,
                                   .file = objects[i].file,
                                   .data = objects[i].start,
                                   .len = (size_t)(objects[i].end - objects[i].start),
                                   .sum = objects[i].sum };
}
