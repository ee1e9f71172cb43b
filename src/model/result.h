/* What happened: one type for a command, a compile stage, a batch item and an HTTP reply. */
#ifndef MODEL_RESULT_H
#define MODEL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/encoding.h"
#include "base/jsonw.h"
#include "model/changes.h"
#include "model/denial.h"
#include "model/diagnosis.h"
#include "model/limits.h"
#include "model/network.h"
#include "model/outputs.h"
#include "model/request.h"

/* One captured stream. */
struct output {
    char *data; /* captured bytes; NULL when there are none */
    size_t len;
    uint64_t total; /* bytes that the program wrote */
    bool truncated; /* total exceeds what was captured or forwarded */
    char *tail;     /* the end of what was only forwarded; may be NULL */
    size_t tail_len;
};

struct usage {
    uint64_t wall_us;
    uint64_t cpu_user_us;
    uint64_t cpu_system_us;
    uint64_t peak_memory_bytes;
    uint64_t peak_processes;
    uint64_t io_read_bytes; /* through read(2) and similar calls, from files and pipes */
    uint64_t io_write_bytes;
    uint64_t context_switches;
    uint64_t startup_us; /* from the request to the first instruction of the program */
    uint64_t queue_us;
    uint64_t connections; /* to the outside */
    uint64_t network_in_bytes, network_out_bytes;
    uint64_t network_cpu_us; /* of the egress process */
};

#define ISOLATION_MAX 24

/* Names are static strings. */
struct isolation {
    enum tier tier;
    const char *mechanisms[ISOLATION_MAX];
    size_t n_mechanisms;
    const char *missing[ISOLATION_MAX];
    size_t n_missing;
};

/* Where overlayfs is refused, the program sees the host's own files (confine/view.h). */
#define MISSING_INODES "inodes apart from the host's"

void result_add_mechanism(struct isolation *isolation, const char *name);
void result_add_missing(struct isolation *isolation, const char *name);

#define RESULT_MAX_STAGES 5

struct sbr_result {
    char id[ENCODING_ID_SIZE];
    enum sbr_verdict verdict;
    int exit_code; /* -1 unless the program exited */
    int signal;    /* 0 unless a signal ended it */
    struct output out;
    struct output err;
    struct usage usage;
    struct limits limits;
    struct isolation isolation;
    const char *startup;   /* "parked", "forked" or "cold" */
    char explanation[240]; /* one sentence when a limit or a rule ended the run */
    const char *stage;     /* "run", "compile", ... */
    struct sbr_result *before[RESULT_MAX_STAGES]; /* earlier stages in order; owned */
    size_t n_before;
    bool ran;               /* false: an earlier stage failed, or there was nothing to run */
    bool cached;            /* the compiled program came from the store */
    const char *policy;     /* NULL: nothing ran */
    struct network network; /* what the program could reach */
    struct denials denials;
    struct diagnosis *diagnosis; /* NULL: none */
    struct changes *changes;     /* NULL: not requested */
    bool lost;                   /* the explanation says what could not be collected or saved */
    char *diff;                  /* of the changes, for people; NULL: not rendered */
    char changes_id[ENCODING_ID_SIZE]; /* of the changeset; empty: none was stored */
    struct output_files files;
    struct sbr_report report; /* filled by result_complete */
};

const char *result_verdict_name(enum sbr_verdict verdict);

/* "SIGKILL", or "signal 40" for one without a name. */
#define SIGNAL_NAME_SIZE 16
const char *result_signal_name(int number, char buf[SIGNAL_NAME_SIZE]);
bool result_success(const sbr_result *result);

/* Fills the public report from everything else.  Call it last. */
void result_complete(sbr_result *result);
void result_free(sbr_result *result);

/* Parts that the JSON of a plan has, too. */
void result_put_limits(struct jsonw *j, const char *key, const struct limits *limits);
void result_put_isolation(struct jsonw *j, const char *key, const struct isolation *isolation);
void result_put_network(struct jsonw *j, const char *key, const struct network *network);

/* One JSON object that the caller frees; NULL without memory. */
char *result_to_json(const sbr_result *result);
/* The JSON form of an error: nothing ran. */
char *result_error_to_json(const sbr_error *err);

#endif
