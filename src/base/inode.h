/* Opens what was looked at, and nothing else that has its name by now.
 *
 * Whoever may write to a directory can put a link, or another file, in the place of a name between two calls.  So the
 * mode of a file is never changed by name: a descriptor of the very inode is taken first, without following. */
#ifndef BASE_INODE_H
#define BASE_INODE_H

#include <stdbool.h>
#include <sys/stat.h>

/* The same inode, and still of the same kind. */
bool inode_same(const struct stat *a, const struct stat *b);

/* Changes the mode of what a descriptor stands for, O_PATH too, of anything but a link.  0, or -1 with errno. */
int inode_chmod(int fd, mode_t mode);

/* `st` is what fstatat said of the name; it is brought up to date.  -1 with errno, ESTALE where the name has become
 * another's.  O_NOFOLLOW and O_CLOEXEC are added to the flags. */
int inode_open(int at, const char *name, int flags, struct stat *st);

/* The same for what its mode may lock us out of: it gets these bits as well, if it can.  `st` is then as it was before, and the
 * caller, once done, puts its mode back with fchmod.  Where it cannot be opened, its mode was put back already. */
int inode_open_locked(int at, const char *name, int flags, mode_t bits, struct stat *st);

#endif
