#include "model/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SECOND 1000ULL
#define HOUR (3600 * SECOND)

/* clang-format off */
const struct limit_def limit_defs[N_LIMITS] = {
    /*                     name                 option             metavar unit
                           min       max          preset, then help */
    [SBR_WALL_MS]      = { "wall_ms",           "timeout",         "TIME", LIMIT_DURATION,
                           1,        24 * HOUR,   30 * SECOND,
                           "real time; then SIGTERM, a grace period and SIGKILL to everything",
                           true },
    [SBR_CPU_MS]       = { "cpu_ms",            "cpu-time",        "TIME", LIMIT_DURATION,
                           1,        240 * HOUR,  LIMIT_NONE,
                           "CPU time of all processes together", true },
    [SBR_MEMORY_BYTES] = { "memory_bytes",      "memory",          "SIZE", LIMIT_SIZE,
                           4 * MIB,  64 * TIB,    512 * MIB,
                           "memory of all processes, files in /tmp and /work included; no swap" },
    [SBR_CPU_MILLIS]   = { "cpus",              "cpus",            "N",    LIMIT_MILLIS,
                           10,       4096000,     LIMIT_NONE,
                           "CPUs at a time, as in 1.5", true },
    [SBR_PIDS]         = { "pids",              "pids",            "N",    LIMIT_COUNT,
                           1,        100000,      128,
                           "processes and threads alive at a time" },
    [SBR_DISK_BYTES]   = { "disk_bytes",        "disk",            "SIZE", LIMIT_SIZE,
                           64 * KIB, 64 * TIB,    256 * MIB,
                           "bytes in /work, /tmp and /dev/shm together" },
    [SBR_INODES]       = { "inodes",            "inodes",          "N",    LIMIT_COUNT,
                           16,       100000000,   100000,
                           "files and directories in /work, /tmp and /dev/shm together" },
    [SBR_OPEN_FILES]   = { "open_files",        "open-files",      "N",    LIMIT_COUNT,
                           8,        1048576,     1024,
                           "open descriptors of one process" },
    [SBR_OUTPUT_BYTES] = { "output_bytes",      "max-output",      "SIZE", LIMIT_SIZE,
                           1,        1 * TIB,     LIMIT_NONE,
                           "bytes that the program may write to stdout, and to stderr", true },
    [SBR_GRACE_MS]     = { "grace_ms",          "grace",           "TIME", LIMIT_DURATION,
                           0,        60 * SECOND, SECOND / 2,
                           "time between SIGTERM and SIGKILL" },
    [SBR_CONNECTIONS]  = { "connections",       "max-connections", "N",    LIMIT_COUNT,
                           0,        1000000,     10000,
                           "connections to the outside, in all" },
    [SBR_NETWORK_IN]   = { "network_in_bytes",  "max-network-in",  "SIZE", LIMIT_SIZE,
                           0,        1024 * TIB,  4096 * MIB,
                           "bytes that come in from the outside" },
    [SBR_NETWORK_OUT]  = { "network_out_bytes", "max-network-out", "SIZE", LIMIT_SIZE,
                           0,        1024 * TIB,  4096 * MIB,
                           "bytes that go to the outside" },
};
/* clang-format on */

void limits_init(struct limits *limits)
{
    *limits = (struct limits){ 0 };
    for (unsigned int i = 0; i < N_LIMITS; i++)
        limits->value[i] = limit_defs[i].preset;
}

void limits_format(enum sbr_limit which, uint64_t value, char *buf, size_t size)
{
    if (value == LIMIT_NONE) {
        snprintf(buf, size, "none");
        return;
    }
    switch (limit_defs[which].unit) {
    case LIMIT_COUNT:
        snprintf(buf, size, "%" PRIu64, value);
        break;
    case LIMIT_SIZE:
        text_format_size(value, buf, size);
        break;
    case LIMIT_DURATION:
        text_format_duration(value, buf, size);
        break;
    case LIMIT_MILLIS:
        text_format_millis(value, buf, size);
        break;
    }
}

/* `name` is how the caller gave the limit: "--memory", "memory", "memory_bytes". */
static int range_error(enum sbr_limit which, const char *name, const char *text, const char *reason,
                       sbr_error *err)
{
    const struct limit_def *def = &limit_defs[which];
    char min[32], max[32];

    limits_format(which, def->min, min, sizeof(min));
    limits_format(which, def->max, max, sizeof(max));
    return err_set(err, SBR_E_INVALID, "limits", "%s '%.40s' %s; give a value from %s to %s%s",
                   name, text, reason, min, max, def->may_be_none ? " or none" : "");
}

static const char *range_fault(const struct limit_def *def, uint64_t value)
{
    return value < def->min ? "is too small" : value > def->max ? "is too large" : NULL;
}

static void set_given(struct limits *limits, enum sbr_limit which, uint64_t value)
{
    limits->value[which] = value;
    limits->given |= 1u << which;
}

/* In the unit of its name, except for CPUs, which people count in whole ones. */
static void format_exact(enum sbr_limit which, uint64_t value, char *buf, size_t size)
{
    if (limit_defs[which].unit == LIMIT_MILLIS)
        text_format_millis(value, buf, size);
    else
        snprintf(buf, size, "%" PRIu64, value);
}

int limits_set(struct limits *limits, enum sbr_limit which, uint64_t value, sbr_error *err)
{
    const struct limit_def *def = &limit_defs[which];
    bool is_none = def->may_be_none && value == LIMIT_NONE;
    const char *fault = is_none ? NULL : range_fault(def, value);
    char text[32], min[32], max[32];

    if (!fault) {
        set_given(limits, which, value);
        return 0;
    }
    format_exact(which, value, text, sizeof(text));
    format_exact(which, def->min, min, sizeof(min));
    format_exact(which, def->max, max, sizeof(max));
    return err_set(err, SBR_E_INVALID, "limits", "%s %s %s; give a value from %s to %s", def->name,
                   text, fault, min, max);
}

static enum text_fault parse_in_unit(enum limit_unit unit, const char *text, uint64_t *ret)
{
    switch (unit) {
    case LIMIT_SIZE:
        return text_parse_size(text, ret);
    case LIMIT_DURATION:
        return text_parse_duration(text, ret);
    case LIMIT_MILLIS:
        return text_parse_millis(text, ret);
    case LIMIT_COUNT:
        break;
    }
    return text_parse_count(text, ret);
}

static const char *const unit_words[] = {
    [LIMIT_COUNT] = "has an unknown unit (it takes none)",
    [LIMIT_SIZE] = "has an unknown unit (b, k, m, g, t)",
    [LIMIT_DURATION] = "has an unknown unit (ms, s, m, h)",
    [LIMIT_MILLIS] = "has an unknown unit (it takes none)",
};

int limits_set_named(struct limits *limits, enum sbr_limit which, const char *name,
                     const char *text, sbr_error *err)
{
    const struct limit_def *def = &limit_defs[which];
    uint64_t value;
    enum text_fault fault = parse_in_unit(def->unit, text, &value);

    if (def->may_be_none && !strcmp(text, "none")) {
        set_given(limits, which, LIMIT_NONE);
        return 0;
    }
    if (fault == TEXT_BAD_UNIT)
        return range_error(which, name, text, unit_words[def->unit], err);
    if (fault != TEXT_OK)
        return range_error(which, name, text, text_fault_reason(fault), err);
    if (range_fault(def, value))
        return range_error(which, name, text, range_fault(def, value), err);
    set_given(limits, which, value);
    return 0;
}

int limits_set_text(struct limits *limits, enum sbr_limit which, const char *text, sbr_error *err)
{
    char name[32];

    snprintf(name, sizeof(name), "--%s", limit_defs[which].option);
    return limits_set_named(limits, which, name, text, err);
}

int limits_set_pair(struct limits *limits, const char *word, const char *pair, sbr_error *err)
{
    size_t len = strcspn(pair, "=");
    char name[64];

    for (unsigned int i = 0; i < N_LIMITS && pair[len]; i++) {
        if (strlen(limit_defs[i].option) != len || strncmp(limit_defs[i].option, pair, len) != 0)
            continue;
        snprintf(name, sizeof(name), "%s %s", word, limit_defs[i].option);
        return limits_set_named(limits, (enum sbr_limit)i, name, pair + len + 1, err);
    }
    return err_set(err, SBR_E_INVALID, "limits",
                   "'%.60s' should be a limit and its value, as in timeout=60s or memory=2g", pair);
}

void limits_override(struct limits *limits, const struct limits *over)
{
    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (over->given & 1u << i)
            limits->value[i] = over->value[i];
    limits->given |= over->given;
}

void limits_lower(struct limits *limits, const struct limits *most)
{
    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (most->given & 1u << i && limits->value[i] > most->value[i])
            limits->value[i] = most->value[i];
}

/* To a number that people read: a tenth of a GiB of this machine's memory is no matter. */
static uint64_t round_down(uint64_t value)
{
    return value < MIB ? value : value - value % (value < 16 * GIB ? MIB : GIB);
}

int limits_fit(struct limits *limits, const struct machine *machine, sbr_error *err)
{
    const struct {
        enum sbr_limit which;
        uint64_t most;
    } bounds[] = {
        { SBR_MEMORY_BYTES, machine->memory_bytes },
        { SBR_DISK_BYTES, machine->memory_bytes }, /* the work directory is in memory */
        { SBR_CPU_MILLIS, machine->cpus * 1000 },
    };

    for (unsigned int i = 0; i < ARRAY_LEN(bounds); i++) {
        enum sbr_limit which = bounds[i].which;
        uint64_t value = limits->value[which];
        char text[32], most[32], min[32];

        if (value == LIMIT_NONE || value <= bounds[i].most)
            continue;
        if (!(limits->given & (1u << which))) {
            limits->value[which] = bounds[i].most;
            continue;
        }
        limits_format(which, value, text, sizeof(text));
        limits_format(which, round_down(bounds[i].most), most, sizeof(most));
        limits_format(which, limit_defs[which].min, min, sizeof(min));
        return err_set(
            err, SBR_E_INVALID, "limits",
            "the limit %s '%s' is more than this machine has; give a value from %s to %s",
            limit_defs[which].option, text, min, most);
    }
    return 0;
}
