#include "live/session_saver.h"

#include <fcntl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static const char *read_hex(const char *text, const char *end, uint64_t *ret)
{
    uint64_t value = 0;

    for (; text < end; text++) {
        char c = *text;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (digit < 0)
            break;
        value = value << 4 | (uint64_t)digit;
    }
    *ret = value;
    return text < end ? text + 1 : text;
}

static const char *skip_word(const char *text, const char *end)
{
    while (text < end && *text != ' ' && *text != '\n')
        text++;
    while (text < end && *text == ' ')
        text++;
    return text;
}

const char *session_maps_line(const char *text, const char *end, struct map_line *ret)
{
    if (end - text < 20)
        return NULL;
    text = read_hex(text, end, &ret->start);
    text = read_hex(text, end, &ret->end);
    if (end - text < 5)
        return NULL;
    ret->readable = text[0] == 'r';
    ret->writable = text[1] == 'w';
    ret->executable = text[2] == 'x';
    ret->shared = text[3] == 's';
    text = read_hex(text + 5, end, &ret->offset);
    text = skip_word(skip_word(text, end), end); /* device, inode */
    ret->path = text;
    while (text < end && *text != '\n')
        text++;
    ret->path_len = (size_t)(text - ret->path);
    return text < end ? text + 1 : end;
}

long session_maps_read(const char *path, char *to, size_t size)
{
    long fd = copy_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    size_t len = 0;
    long n = fd < 0 ? fd : 1;

    while (n > 0 && len < size) {
        n = copy_call(SYS_read, fd, (long)(to + len), (long)(size - len), 0, 0, 0);
        len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        copy_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return n == 0 ? (long)len : -1;
}
#endif
