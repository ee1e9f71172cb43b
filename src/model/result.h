/* What happened: one type for a command, a compile stage, a batch item and an HTTP reply. */
#ifndef MODEL_RESULT_H
#define MODEL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/encoding.h"
#include "base/jsonw.h"
#include "base/string_list.h"
#include "model/changes.h"
#include "model/denial.h"
#include "model/limits.h"
#include "model/network.h"
#include "model/outputs.h"
#include "model/publish.h"
#include "model/request.h"

/* One captured stream. */
struct output {
    char *data; /* kept bytes: everything, or the beginning; NULL: not kept */
    size_t len;
    char *tail; /* the end, when a middle was left out, or when only the end is kept; or NULL */
    size_t tail_len;
    uint64_t total;  /* bytes that the program wrote */
    uint64_t unread; /* bytes at the end that the reader did not take in time */
    bool truncated;  /* some bytes are neither kept nor passed on */
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

/* Where overlayfs is refused, the program sees the host's own files (confine/mounts.h). */
#define MISSING_INODES "inodes apart from the host's"

void result_add_mechanism(struct isolation *isolation, const char *name);
void result_add_missing(struct isolation *isolation, const char *name);

#define RESULT_MAX_STAGES 5
#define RESULT_WORD_SIZE 32 /* of a version or the name of a tool */

/* What ran the program. */
struct result_language {
    const char *name;                    /* static; NULL: a command, not a language */
    char version[RESULT_WORD_SIZE];      /* empty: not known */
    char tool[RESULT_WORD_SIZE];         /* the file name of its interpreter or compiler */
    char tool_version[RESULT_WORD_SIZE]; /* empty: not known */
};

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
    const char *startup;                /* "parked", "forked" or "cold" */
    unsigned int tty_rows, tty_columns; /* 0: the program had no terminal */
    char explanation[240];              /* one sentence when a limit or a rule ended the run */
    const char *stage;      /* that the verdict and the usage are of; NULL: none began */
    uint64_t stage_us;      /* that stage, with its set-up and what it left */
    uint64_t total_us;      /* the whole job, from the request to the result */
    uint64_t started_at_us; /* when the request came, since 1970 */
    struct result_language language;
    struct sbr_result *before[RESULT_MAX_STAGES]; /* earlier stages in order; owned */
    size_t n_before;
    bool ran;               /* false: an earlier stage failed, or there was nothing to run */
    bool cached;            /* the compiled program came from the store */
    char *compile_output;   /* UTF-8 of the compiler that made it, also earlier; NULL: none */
    const char *policy;     /* NULL: nothing ran */
    struct network network; /* what the program could reach */
    struct publish publish; /* ports that led to it */
    struct denials denials;
    struct diagnosis *diagnosis; /* NULL: none */
    struct changes *changes;     /* NULL: not requested */
    bool lost;                   /* the explanation says what could not be collected or saved */
    char *diff;                  /* of the changes, for people; NULL: not rendered */
    char changes_id[ENCODING_ID_SIZE]; /* of the changeset; empty: none was stored */
    char output_id[ENCODING_ID_SIZE];  /* of the kept output; empty: it was not kept */
    bool output_cut;                   /* of the output, `output_id` has only the beginning */
    struct output_files files;
    struct string_list excluded; /* what trees left out; paths inside */
    struct string_list uses;     /* modules that the program imports: explain/sensitive.c */
    struct sbr_report report;    /* filled by result_complete */
};

/* The end of a stream, as far as it is there: for its diagnosis.  May be NULL. */
const char *result_output_end(const struct output *out, size_t *ret_len);

const char *result_verdict_name(enum sbr_verdict verdict);
/* The same word for an error, which stands in place of a result. */
const char *result_error_name(int code);

/* The version of this library, as in "1.2.3". */
const char *result_version(void);
/* A time since 1970 in UTC, as RFC 3339 writes it: "2026-02-03T04:05:06.789Z". */
#define RESULT_TIME_SIZE 40
void result_format_time(uint64_t us, char buf[RESULT_TIME_SIZE]);

/* "SIGKILL", or "signal 40" for one without a name. */
#define SIGNAL_NAME_SIZE 16
const char *result_signal_name(int number, char buf[SIGNAL_NAME_SIZE]);
/* The number of such a name; 0: it is none. */
int result_signal_number(const char *name);
bool result_success(const sbr_result *result);

/* Fills the public report from everything else.  Call it last. */
void result_complete(sbr_result *result);
void result_free(sbr_result *result);

/* Parts that the JSON of a plan has, too. */
void result_put_limits(struct jsonw *j, const char *key, const struct limits *limits);
void result_put_isolation(struct jsonw *j, const char *key, const struct isolation *isolation);
void result_put_network(struct jsonw *j, const char *key, const struct network *network);

/* False for bytes that JSON has as base64. */
bool result_is_best_as_text(const char *data, size_t len);
/* One JSON object. */
void result_put_json(struct jsonw *j, const sbr_result *result);
/* The JSON form of an error: nothing ran. */
void result_put_error(struct jsonw *j, const sbr_error *err);
/* The same in one line, which the caller frees; NULL without memory. */
char *result_to_json(const sbr_result *result);
char *result_error_to_json(const sbr_error *err);
/* The same of a result whose long streams stand apart, in the result itself. */
char *result_to_json_apart(const sbr_result *result, struct jsonw_apart *apart);

/* What went wrong in the user's program, in the words of its language. */
struct diagnosis_frame {
    char *file; /* relative to the work directory */
    unsigned int line, column;
    char *function; /* NULL: unknown */
};

#define DIAGNOSIS_MAX_FRAMES 32

/* The struct owns every text; any may be NULL. */
struct diagnosis {
    char *type;
    char *message;
    char *file;
    unsigned int line, column;                           /* 0: unknown */
    struct diagnosis_frame frames[DIAGNOSIS_MAX_FRAMES]; /* innermost first */
    size_t n_frames;
    char *context; /* three lines of the source, with the failing one marked */
    char *suggestion;
    char *link;
};

void diagnosis_free(struct diagnosis *diagnosis);
/* Writes null when `diagnosis` is NULL. */
void diagnosis_put_json(struct jsonw *j, const char *key, const struct diagnosis *diagnosis);

#endif
