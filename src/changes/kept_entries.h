/* Kept outputs as entries of the state directory: internal to kept_output.c and kept_entries.c. */
#ifndef CHANGES_KEPT_ENTRIES_H
#define CHANGES_KEPT_ENTRIES_H

#include "changes/kept_output.h"

extern const char *const kept_entries_names[N_KEPT_STREAMS];

/* Oldest first. */
struct kept_entries {
    struct kept_output *v;
    size_t n;
};
void kept_entries_done(struct kept_entries *entries);
#define scoped_kept_entries __attribute__((cleanup(kept_entries_done)))

/* Opens the directory and takes its lock, under which entries are made and removed.  As state_open.
 */
int kept_entries_open(bool make, struct state_dir *ret, int *ret_lock, sbr_error *err) must_check;

/* Writes `meta`.  0, or -1 with errno. */
int kept_entries_write(int dir_fd, const struct kept_output *output) must_check;
/* Bytes that it takes, or may take while its run writes. */
uint64_t kept_entries_size(const struct kept_output *output);
int kept_entries_read(const struct state_dir *state, struct kept_entries *ret, sbr_error *err)
    must_check;
/* Removes what expired, and the oldest until a run has its bytes. */
void kept_entries_make_room(const struct state_dir *state, const struct kept_output_bounds *bounds,
                            int64_t now, struct kept_entries *entries);

#endif
