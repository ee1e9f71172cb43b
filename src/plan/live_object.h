/* Drivers that are no text but made from src/live while the project is built: an object that is
 * linked into compiled programs, and libraries that are loaded before an interpreter. */
#ifndef PLAN_LIVE_OBJECT_H
#define PLAN_LIVE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct live_object {
    const unsigned char *data;
    size_t len;
    const char *sum; /* SHA-256 of the content, in hexadecimal digits */
};

#define LIVE_OBJECT_LINKED "live.o"
#define LIVE_OBJECT_LOADED "live.so"
#define LIVE_OBJECT_WRITING "live-write.so"
#define LIVE_OBJECT_LUA "session-lua.so" /* of sessions */

/* Here, because the generator of tables asks it, too, and has no objects. */
static inline bool live_object_is(const char *driver)
{
    return !strcmp(driver, LIVE_OBJECT_LINKED) || !strcmp(driver, LIVE_OBJECT_LOADED) ||
           !strcmp(driver, LIVE_OBJECT_WRITING) || !strcmp(driver, LIVE_OBJECT_LUA);
}

/* For a driver that is one. */
struct live_object live_object_find(const char *driver);

#endif
