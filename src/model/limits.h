/* The limits: one table row each.  Option, JSON name, unit, range, default and help follow from it.
 */
#ifndef MODEL_LIMITS_H
#define MODEL_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define N_LIMITS (SBR_NETWORK_OUT + 1)
#define LIMIT_NONE UINT64_MAX /* this limit is not set */

enum limit_unit { LIMIT_COUNT, LIMIT_SIZE, LIMIT_DURATION, LIMIT_MILLIS };

struct limit_def {
    const char *name;   /* in JSON                                         */
    const char *option; /* on the command line, without the dashes         */
    const char *metavar;
    enum limit_unit unit;
    uint64_t min, max;
    uint64_t preset; /* when not given; LIMIT_NONE: unlimited            */
    const char *help;
};

/* Indexed by enum sbr_limit. */
extern const struct limit_def limit_defs[N_LIMITS];

struct limits {
    uint64_t value[N_LIMITS];
    uint32_t given; /* bit per limit that the caller set */
};

/* What cannot be given away more of than there is. */
struct machine {
    uint64_t memory_bytes;
    uint64_t cpus;
};

void limits_init(struct limits *limits);

/* Both check the range of the table and say which option, which value and which range. */
int limits_set(struct limits *limits, enum sbr_limit which, uint64_t value, sbr_error *err);
int limits_set_text(struct limits *limits, enum sbr_limit which, const char *text, sbr_error *err);
/* `pair` is OPTION=VALUE, as in timeout=60s. */
int limits_set_pair(struct limits *limits, const char *pair, sbr_error *err);
/* Puts what was given in `over` on top. */
void limits_override(struct limits *limits, const struct limits *over);

/* Refuses what was asked for beyond the machine, and lowers presets to fit. */
int limits_fit(struct limits *limits, const struct machine *machine, sbr_error *err) must_check;

/* "30s", "512m", "none". */
void limits_format(enum sbr_limit which, uint64_t value, char *buf, size_t size);

#endif
