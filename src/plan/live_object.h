/* Drivers that are no text but made from src/live while the project is built: an object that is
 * linked into compiled programs, and a library that is loaded before an interpreter. */
#ifndef PLAN_LIVE_OBJECT_H
#define PLAN_LIVE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LIVE_OBJECT_LINKED "live.o"
#define LIVE_OBJECT_LOADED "live.so"

static inline bool live_object_is(const char *driver)
{
    return !strcmp(driver, LIVE_OBJECT_LINKED) || !strcmp(driver, LIVE_OBJECT_LOADED);
}

struct live_object {
    const unsigned char *data;
    size_t len;
    const char *sum; /* SHA-256 of the content, in hexadecimal digits */
};

struct live_object live_object_find(const char *driver);

#endif
