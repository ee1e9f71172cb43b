/* Opens what was looked at, and nothing else that has its name by now.
 *
 * A process that may write to a directory can put a link, or another file, in the place of a name
 * between two calls.  So the mode of a file is never changed by name: a file descriptor of the very
 * inode is taken first, without following a link. */
#ifndef BASE_INODE_H
#define BASE_INODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/* What was looked at, to be known again in another process.  Inode 0: any. */
struct inode_id {
    uint64_t device, inode;
};

struct inode_id inode_id_of(const struct stat *st);

/* SBR_E_DENIED when `st`, of what `path` led to, is not `id`: who owns a directory on the way may
 * have put a link there meanwhile. */
int inode_id_check(struct inode_id id, const struct stat *st, const char *path, sbr_error *err)
    must_check;

/* The same inode, and still of the same kind. */
bool inode_same(const struct stat *a, const struct stat *b);

/* Changes the mode of what a file descriptor stands for, also an O_PATH one, except a link's. 0, or
 * -1 with errno. */
int inode_chmod(int fd, mode_t mode);

/* `st` is what fstatat reported of the name; it is brought up to date.  -1 with errno, ESTALE where
 * the name belongs to another inode now.  Adds O_NOFOLLOW and O_CLOEXEC to the flags. */
int inode_open(int at, const char *name, int flags, struct stat *st);
/* The same; EXDEV where something is mounted on it, which kernels before 5.6 cannot tell. */
int inode_open_unmounted(int at, const char *name, int flags, struct stat *st);

/* The same for what its mode may keep us out of: it gets these bits as well, if possible.  `st` is
 * then as it was before, and the caller restores the mode with fchmod.  Where the opening fails,
 * the mode is restored already. */
int inode_open_locked(int at, const char *name, int flags, mode_t bits, struct stat *st);

/* openat2 with RESOLVE_* flags, as often as the kernel asks for because of a rename. -1 with errno;
 * ENOSYS before Linux 5.6 and where a container's filter refuses the call. */
int inode_resolve(int at, const char *path, int flags, uint64_t resolve);

/* Below `at`, without a link at any component, on every kernel; `more` has RESOLVE_* flags that old
 * kernels do without.  -1 with errno: ELOOP or ENOTDIR for a link, ENOENT also for `..`.  Adds
 * O_NOFOLLOW and O_CLOEXEC to the flags. */
int inode_open_beneath(int at, const char *path, int flags, uint64_t more);
/* The same for reading a file that others may have put there: no pipe is waited for, and whatever
 * is no regular file fails with EINVAL. */
int inode_open_regular(int at, const char *path, struct stat *ret);

#endif
