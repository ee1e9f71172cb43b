/* A file that is not whole yet, in a directory that people look at.  It has no name until its bytes
 * are there, so that who is killed meanwhile leaves nothing.  Where the file system knows no files
 * without a name, it has one of its own. */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H

#include <sys/types.h>

#include "base/encoding.h"
#include "base/err.h"

#define ASIDE_PREFIX ".sandbox-run-" /* and a random id */
#define ASIDE_SIZE (sizeof(ASIDE_PREFIX) + ENCODING_ID_SIZE)

struct aside {
    int fd;
    char name[ASIDE_SIZE]; /* empty: none */
};

#define ASIDE_NONE ((struct aside){ .fd = -1 })

/* For reading and writing.  0, or -1 with errno; `dir_fd` may be of O_PATH. */
int aside_open(int dir_fd, mode_t mode, struct aside *ret) must_check;
/* The file gets its name, in place of what has it.  0, or -1 with errno; closed in any case. */
int aside_name(struct aside *aside, int dir_fd, const char *name) must_check;
/* The same for a symbolic link. */
int aside_name_link(const char *text, int dir_fd, const char *name) must_check;
/* Closes it, and removes its own name. */
void aside_drop(struct aside *aside, int dir_fd);

#endif
