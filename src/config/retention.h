/* What is kept between runs goes by itself: too old, or too much.
 *
 * At most once a day, after the answer of a run was given, a process of its own cleans the cache,
 * kept changes and kept output.  What is in use stays. */
#ifndef CONFIG_RETENTION_H
#define CONFIG_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum retention_item {
    RETAIN_CACHE_AGE,
    RETAIN_CACHE_SIZE,
    RETAIN_CHANGES_AGE,
    RETAIN_CHANGES_SIZE,
    RETAIN_OUTPUT_AGE,
    RETAIN_OUTPUT_SIZE,
    RETAIN_AUDIT_AGE,
    RETAIN_AUDIT_SIZE,
    N_RETENTIONS
};

struct retention_def {
    const char *key;
    bool is_age;
    uint64_t preset; /* seconds or bytes */
};
/* Indexed by enum retention_item. */
extern const struct retention_def retention_defs[N_RETENTIONS];

struct retention {
    uint64_t value[N_RETENTIONS];
};

void retention_init(struct retention *retention);
/* "30d", "12h", "10g"; `reason` says why a text is none.  0 or -1. */
int retention_parse(enum retention_item item, const char *text, uint64_t *ret, const char **reason);
void retention_format(enum retention_item item, uint64_t value, char *buf, size_t size);

/* Removes what is too old or too much; what cannot be removed is left for the next time. */
void retention_clean(const struct retention *retention);
/* True once a day, for one process: the caller then cleans. */
bool retention_is_due(void);

#endif
