/* Landlock's calls, which no C library has yet. */
#ifndef BASE_LANDLOCK_CALLS_H
#define BASE_LANDLOCK_CALLS_H

#include <stdint.h>

/* The kernel's interface as of ABI 7; headers of the build machine may be older. */
#define LANDLOCK_EXECUTE (1ULL << 0)
#define LANDLOCK_WRITE_FILE (1ULL << 1)
#define LANDLOCK_READ_FILE (1ULL << 2)
#define LANDLOCK_READ_DIR (1ULL << 3)
#define LANDLOCK_REFER (1ULL << 13)    /* ABI 2 */
#define LANDLOCK_TRUNCATE (1ULL << 14) /* ABI 3 */
#define LANDLOCK_BIND_TCP (1ULL << 0)  /* ABI 4, as the next */
#define LANDLOCK_CONNECT_TCP (1ULL << 1)
#define LANDLOCK_IOCTL_DEV (1ULL << 15) /* ABI 5 */

/* 0: the kernel has no Landlock. */
int landlock_abi(void);
/* Handles all rights to files that this ABI knows but those in `left_out`, all its scopes, and of
 * the network rights those in `net`.  *ret_files are the rights to files that are handled.  The fd
 * of the ruleset, or -1 with errno. */
int landlock_create(int abi, uint64_t left_out, uint64_t net, uint64_t *ret_files);
/* Allows `rights` at and below an open path; 0 or -1 with errno. */
int landlock_allow(int ruleset, int path_fd, uint64_t rights);
/* Holds from now on; 0 or -1 with errno. */
int landlock_enforce(int ruleset);

#endif
