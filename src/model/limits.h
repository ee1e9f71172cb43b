/* The limits, one table row each: option, JSON name, unit, range, default and help. */
#ifndef MODEL_LIMITS_H
#define MODEL_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define N_LIMITS (SBR_NETWORK_OUT + 1)
#define LIMIT_NONE SBR_NO_LIMIT /* the limit is not set */

enum limit_unit { LIMIT_COUNT, LIMIT_SIZE, LIMIT_DURATION, LIMIT_MILLIS };

struct limit_def {
    const char *name;   /* in JSON */
    const char *option; /* on the command line, without the dashes */
    const char *metavar;
    enum limit_unit unit;
    uint64_t min, max;
    uint64_t preset; /* the default; LIMIT_NONE: unlimited */
    const char *help;
    bool may_be_none; /* `none` switches it off */
};

/* Indexed by enum sbr_limit. */
extern const struct limit_def limit_defs[N_LIMITS];

struct limits {
    uint64_t value[N_LIMITS];
    uint32_t given; /* one bit for each limit that the caller set */
};

/* Upper bounds: what the machine has. */
struct machine {
    uint64_t memory_bytes;
    uint64_t cpus;
};

void limits_init(struct limits *limits);

/* All check the table's range; the error names the limit, the value and the range. */
int limits_set(struct limits *limits, enum sbr_limit which, uint64_t value, sbr_error *err);
/* The value of the limit's option, as text. */
int limits_set_text(struct limits *limits, enum sbr_limit which, const char *text, sbr_error *err);
/* The same under another name, which the error has. */
int limits_set_named(struct limits *limits, enum sbr_limit which, const char *name,
                     const char *text, sbr_error *err);
/* `pair` is OPTION=VALUE, as in timeout=60s. */
int limits_set_pair(struct limits *limits, const char *word, const char *pair, sbr_error *err);
/* Replaces every limit that is set in `over`. */
void limits_override(struct limits *limits, const struct limits *over);
/* None of the limits is higher than the one of `most` that is given. */
void limits_lower(struct limits *limits, const struct limits *most);

/* Refuses a given limit that exceeds the machine, and lowers defaults to fit. */
int limits_fit(struct limits *limits, const struct machine *machine, sbr_error *err) must_check;

/* "30s", "512m", "none". */
void limits_format(enum sbr_limit which, uint64_t value, char *buf, size_t size);

#endif
