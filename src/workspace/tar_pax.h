/* What extension headers say about the entry behind them. */
#ifndef WORKSPACE_TAR_PAX_H
#define WORKSPACE_TAR_PAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

struct tar_extension {
    char *path, *link; /* NULL: as the header says */
    uint64_t size;
    struct timespec mtime;
    bool has_size, has_mtime;
};

void tar_extension_done(struct tar_extension *extension);
/* Records "LEN KEY=VALUE\n"; `data` has a NUL behind it.  With `global`, for all that follow: then only what has no
 * meaning here is accepted. */
int tar_pax_take(const char *data, size_t len, bool global, struct tar_extension *extension,
                 sbr_error *err) must_check;

/* "the archive WHAT; nothing of it was taken" */
int tar_fault(sbr_error *err, const char *what);

#endif
