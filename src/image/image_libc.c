/* Whether the C library of an image takes the shared objects that we were built with. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/arch.h"
#include "image/image.h"
#include "plan/driver_object.h"

#define TAG "GLIBC_" /* versions of symbols, as in GLIBC_2.34 */
#define TAG_MAX 24
#define LIBC_MAX (64u << 20)

static const char *const places[] = { "/lib/" ARCH_NAME "-linux-gnu/libc.so.6",
                                      "/usr/lib/" ARCH_NAME "-linux-gnu/libc.so.6",
                                      "/lib64/libc.so.6", "/usr/lib64/libc.so.6",
                                      "/lib/libc.so.6" };

struct bytes {
    const char *data;
    size_t len;
};

/* The object names the versions that it needs; the library names those that it has. */
static bool has_versions(struct bytes library, struct bytes object)
{
    const char *end = object.data + object.len, *at = object.data;

    while ((at = memmem(at, (size_t)(end - at), TAG, strlen(TAG)))) {
        size_t len = strnlen(at, (size_t)(end - at)) + 1; /* with the zero */

        if (len < TAG_MAX && !memmem(library.data, library.len, at, len))
            return false;
        at += strlen(TAG);
    }
    return true;
}

static bool takes_objects(struct bytes library)
{
    static const char *const objects[] = { DRIVER_OBJECT_LOADED, DRIVER_OBJECT_WRITING,
                                           DRIVER_OBJECT_LUA };

    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        struct driver_object one = driver_object_find(objects[i]);

        if (!has_versions(library, (struct bytes){ (const char *)one.data, one.len }))
            return false;
    }
    return true;
}

static bool is_taken_by(int fd)
{
    struct stat st;
    void *data;
    bool good;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > LIBC_MAX)
        return false;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return false;
    good = takes_objects((struct bytes){ data, (size_t)st.st_size });
    munmap(data, (size_t)st.st_size);
    return good;
}

static bool has_objects(const struct language *language)
{
    for (unsigned int i = 0; i < language->drivers.n; i++)
        if (driver_object_is(language->drivers.at[i]))
            return true;
    return false;
}

void image_look_for_libc(struct image *image, const struct language *language)
{
    if (!has_objects(language))
        return;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        scoped_fd int fd = tool_root_open(&image->root, places[i], O_RDONLY);

        if (fd >= 0) {
            image->plan.runs_objects = is_taken_by(fd);
            return;
        }
    }
}
