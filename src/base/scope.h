/* Scope frees, success takes: an early return is always safe. */
#ifndef BASE_SCOPE_H
#define BASE_SCOPE_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scope_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd); /* once: on Linux the fd is gone whatever close returns */
}

static inline void scope_free_ptr(void *ptr)
{
    free(*(void **)ptr);
}

static inline void scope_close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

#define scoped_fd __attribute__((cleanup(scope_close_fd)))
#define scoped_free __attribute__((cleanup(scope_free_ptr)))
#define scoped_dir __attribute__((cleanup(scope_close_dir)))

static inline int scope_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#define take_fd(fd) scope_take_fd(&(fd))
#define take_ptr(ptr)                                                                              \
    ({                                                                                             \
        __typeof__(ptr) taken_ptr_ = (ptr);                                                        \
        (ptr) = NULL;                                                                              \
        taken_ptr_;                                                                                \
    })

#endif
