/* Drivers that are no text but made while the project is built: of src/live objects that are
 * linked into compiled programs and libraries that are loaded before an interpreter, and the
 * bytecode of a driver for the build machine's Python. */
#ifndef PLAN_DRIVER_OBJECT_H
#define PLAN_DRIVER_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct driver_object {
    const char *dir; /* below the drivers' own; may be NULL */
    const char *file;
    const unsigned char *data;
    size_t len;
    const char *sum; /* SHA-256 of the content, in hexadecimal digits */
};

#define DRIVER_OBJECT_LINKED "live.o"
#define DRIVER_OBJECT_LOADED "live.so"
#define DRIVER_OBJECT_WRITING "live-write.so"
#define DRIVER_OBJECT_SAMPLER "sampler.o"    /* of profiled runs */
#define DRIVER_OBJECT_LUA "session-lua.so"   /* of sessions */
#define DRIVER_OBJECT_COPY "session-copy.so" /* likewise; the only one without a C library */
#define DRIVER_OBJECT_BYTECODE "sitecustomize.pyc"

/* Here, because the generator of tables asks it, too, and has no objects. */
static inline bool driver_object_is(const char *driver)
{
    static const char *const names[] = { DRIVER_OBJECT_LINKED,  DRIVER_OBJECT_LOADED,
                                         DRIVER_OBJECT_WRITING, DRIVER_OBJECT_SAMPLER,
                                         DRIVER_OBJECT_LUA,     DRIVER_OBJECT_COPY,
                                         DRIVER_OBJECT_BYTECODE };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(driver, names[i]))
            return true;
    return false;
}

/* For a driver that is one. */
struct driver_object driver_object_find(const char *driver);

#endif
