/* The whole output of a run, kept in the state directory: output/ID/ has `stdout`, `stderr` and
 * `meta` (the command, the time, what the program wrote).  Bounded for each run and in total; a new
 * one removes what expired, then the oldest, never one whose run still writes. */
#ifndef CHANGES_KEPT_OUTPUT_H
#define CHANGES_KEPT_OUTPUT_H

#include <stdint.h>

#include "changes/state_dir.h"

#define KEPT_OUTPUT_ABOUT 200

struct kept_output_bounds {
    uint64_t run_bytes; /* of both streams of one run */
    uint64_t all_bytes;
    int64_t seconds; /* after the last byte */
};
/* 1 GiB, 4 GiB, a day. */
extern const struct kept_output_bounds kept_output_bounds;

enum kept_stream { KEPT_STDOUT, KEPT_STDERR, N_KEPT_STREAMS };

struct kept_output {
    char id[ENCODING_ID_SIZE];
    char about[KEPT_OUTPUT_ABOUT]; /* one line: the command */
    int64_t created, used;         /* seconds: when it began; when the last byte came */
    uint64_t budget;               /* bytes that its run may write */
    uint64_t kept[N_KEPT_STREAMS]; /* bytes in the files */
    uint64_t
        total[N_KEPT_STREAMS]; /* bytes that the program wrote; more than kept: some are lost */
    bool running;              /* its run still writes */
    bool ended; /* the run ended; false without `running`: its supervisor was killed */
};

/* What a run writes to. */
struct kept_writer {
    struct kept_output about;
    int dir_fd; /* locked; -1: not open */
    int fds[N_KEPT_STREAMS];
    int sys_errno; /* why no more is kept, as on a full disk; 0: nothing failed */
};

/* Removes what has to go, and makes a new one. */
int kept_output_begin(const struct kept_output_bounds *bounds, const char *about,
                      struct kept_writer *ret, sbr_error *err) must_check;
/* Past the bound or after a failure it only counts. */
void kept_output_write(struct kept_writer *writer, enum kept_stream stream, const char *data,
                       size_t len);
/* Closes it.  0; or negative when some of the output was not kept, and why. */
int kept_output_end(struct kept_writer *writer, sbr_error *err) must_check;

/* Newest first.  A visitor that returns not 0 ends the listing, which returns it. */
typedef int kept_output_visit(void *context, const struct kept_output *output);
int kept_output_list(kept_output_visit *visit, void *context, sbr_error *err) must_check;
/* `id` may be a unique prefix of at least 4 characters.  The caller closes *ret_fd. */
int kept_output_open(const char *id, enum kept_stream stream, struct kept_output *ret, int *ret_fd,
                     sbr_error *err) must_check;
/* Removes what expired, and the oldest until all fit; never one whose run still writes. */
int kept_output_clean(const struct kept_output_bounds *bounds, sbr_error *err) must_check;
/* SBR_E_BUSY while its run writes. */
int kept_output_remove(const char *id, sbr_error *err) must_check;
/* All whose runs do not write any more. */
int kept_output_remove_all(size_t *ret_n, sbr_error *err) must_check;

/* Kept outputs as entries of the state directory: internal to kept_output.c and kept_entries.c. */
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
