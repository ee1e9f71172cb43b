#include "config/retention.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "changes/changeset.h"
#include "changes/kept_output.h"
#include "config/audit_chain.h"
#include "store/store.h"

#define DAY ((uint64_t)24 * 3600)
#define STAMP "cleaned" /* a file in the cache; its time is that of the last cleaning */

/* clang-format off */
const struct retention_def retention_defs[N_RETENTIONS] = {
    [RETAIN_CACHE_AGE]    = { "cache_age",    true,  30 * DAY },
    [RETAIN_CACHE_SIZE]   = { "cache_size",   false, 20 * GIB },
    [RETAIN_CHANGES_AGE]  = { "changes_age",  true,  90 * DAY },
    [RETAIN_CHANGES_SIZE] = { "changes_size", false, 10 * GIB },
    [RETAIN_OUTPUT_AGE]   = { "output_age",   true,  DAY      },
    [RETAIN_OUTPUT_SIZE]  = { "output_size",  false, 4 * GIB  },
    [RETAIN_AUDIT_AGE]    = { "audit_age",    true,  365 * DAY },
    [RETAIN_AUDIT_SIZE]   = { "audit_size",   false, GIB / 4  },
};
/* clang-format on */

void retention_init(struct retention *retention)
{
    for (size_t i = 0; i < N_RETENTIONS; i++)
        retention->value[i] = retention_defs[i].preset;
}

int retention_parse(enum retention_item item, const char *text, uint64_t *ret, const char **reason)
{
    size_t len = strlen(text);
    enum text_fault fault;
    char days[24];

    if (!retention_defs[item].is_age) {
        fault = text_parse_size(text, ret);
    } else if (len && len < sizeof(days) && text[len - 1] == 'd') {
        snprintf(days, sizeof(days), "%.*s", (int)len - 1, text);
        fault = text_parse_count(days, ret);
        if (fault == TEXT_OK && *ret > 36500)
            fault = TEXT_TOO_LARGE;
        *ret *= DAY;
    } else {
        fault = text_parse_duration(text, ret);
        *ret /= 1000;
    }
    *reason = text_fault_reason(fault);
    return fault == TEXT_OK ? 0 : -1;
}

void retention_format(enum retention_item item, uint64_t value, char *buf, size_t size)
{
    if (!retention_defs[item].is_age)
        text_format_size(value, buf, size);
    else if (value && value % DAY == 0)
        snprintf(buf, size, "%" PRIu64 "d", value / DAY);
    else
        text_format_duration(value * 1000, buf, size);
}

/* Kept changes, newest first: how much is kept so far. */
struct changes_sum {
    const struct retention *retention;
    int64_t now;
    uint64_t bytes;
    char (*goes)[ENCODING_ID_SIZE];
    size_t n_goes;
};

static int look_at_changes(void *context, const struct changeset *changeset)
{
    struct changes_sum *sum = context;
    const uint64_t *most = sum->retention->value;
    uint64_t age = sum->now > changeset->created ? (uint64_t)(sum->now - changeset->created) : 0;
    char(*grown)[ENCODING_ID_SIZE];

    for (size_t i = 0; i < changeset->changes.n; i++)
        sum->bytes += changeset->changes.items[i].now.size;
    if (age < most[RETAIN_CHANGES_AGE] && sum->bytes <= most[RETAIN_CHANGES_SIZE])
        return 0;
    grown = realloc(sum->goes, (sum->n_goes + 1) * sizeof(*grown));
    if (!grown)
        return SBR_E_NO_MEMORY;
    sum->goes = grown;
    memcpy(grown[sum->n_goes++], changeset->id, ENCODING_ID_SIZE);
    return 0;
}

static void clean_changes(const struct retention *retention)
{
    struct changes_sum sum = { .retention = retention, .now = time(NULL) };
    sbr_error err;

    if (changeset_list(look_at_changes, &sum, &err) < 0)
        log_info("retention", "kept changes cannot be listed");
    for (size_t i = 0; i < sum.n_goes; i++)
        if (changeset_drop(sum.goes[i], &err) < 0)
            log_info("retention", "%s", err.message);
    free(sum.goes);
}

void retention_clean(const struct retention *retention)
{
    const uint64_t *most = retention->value;
    const struct kept_output_bounds bounds = { .all_bytes = most[RETAIN_OUTPUT_SIZE],
                                               .seconds = (int64_t)most[RETAIN_OUTPUT_AGE] };
    sbr_error err;

    if (store_retain(most[RETAIN_CACHE_AGE], most[RETAIN_CACHE_SIZE], &err) < 0)
        log_info("retention", "%s", err.message);
    clean_changes(retention);
    if (kept_output_clean(&bounds, &err) < 0)
        log_info("retention", "%s", err.message);
    if (audit_chain_retain(most[RETAIN_AUDIT_AGE], most[RETAIN_AUDIT_SIZE], &err) < 0)
        log_info("retention", "%s", err.message);
}

/* The cache or, for users without one, the state; -1: nothing is kept. */
static int open_place(void)
{
    struct state_dir dir = { .fd = -1 };
    char path[STORE_PATH_SIZE];
    sbr_error ignored;
    int fd = -1;

    if (store_path(path, sizeof(path), &ignored) == 0)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && state_open(".", false, &dir, &ignored) == 1)
        fd = dir.fd;
    return fd;
}

/* One look that decides nearly always; a wrong guess costs only the right way below. */
static bool was_cleaned_today(void)
{
    char path[STORE_PATH_SIZE], stamp[STORE_PATH_SIZE + sizeof(STAMP)];
    struct stat st;

    if (!store_guess_path(path))
        return false;
    snprintf(stamp, sizeof(stamp), "%s/" STAMP, path);
    return lstat(stamp, &st) == 0 && time(NULL) - st.st_mtime < (time_t)DAY;
}

/* The first run makes the stamp: what it could clean is not a day old. */
bool retention_is_due(void)
{
    scoped_fd int place = -1;
    struct stat st;

    if (was_cleaned_today())
        return false;
    place = open_place();
    if (place < 0)
        return false;
    if (fstatat(place, STAMP, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        scoped_fd int fd =
            openat(place, STAMP, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

        return false;
    }
    /* Touched before the work: of runs that end together one does it. */
    return st.st_uid == geteuid() && time(NULL) - st.st_mtime >= (time_t)DAY &&
           utimensat(place, STAMP, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}
