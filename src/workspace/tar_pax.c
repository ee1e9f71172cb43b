#include "workspace/tar_pax.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND 1000000000L

void tar_extension_done(struct tar_extension *extension)
{
    free(extension->path);
    free(extension->link);
    *extension = (struct tar_extension){ 0 };
}

/* Decimal digits up to `end`; NULL when there are none or too many. */
static const char *parse_digits(const char *at, const char *end, uint64_t *ret)
{
    const char *first = at;
    uint64_t value = 0;

    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (value > (INT64_MAX - 9) / 10)
            return NULL;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *ret = value;
    return at > first ? at : NULL;
}

/* [-]SECONDS[.FRACTION] */
static bool parse_time(const char *at, const char *end, struct timespec *ret)
{
    bool negative = at < end && *at == '-';
    long ns = 0, unit = NS_PER_SECOND / 10;
    uint64_t seconds;

    at = parse_digits(at + negative, end, &seconds);
    if (!at)
        return false;
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++, unit /= 10)
            ns += unit * (*at - '0');
    if (at != end)
        return false;
    *ret = (struct timespec){ .tv_sec = (time_t)seconds, .tv_nsec = ns };
    if (negative) {
        ret->tv_sec = -ret->tv_sec - (ns > 0);
        ret->tv_nsec = ns ? NS_PER_SECOND - ns : 0;
    }
    return true;
}

struct record {
    const char *key, *value, *end; /* the key ends before "=", the value before the newline */
};

static bool is_key(const struct record *record, const char *key)
{
    size_t len = strlen(key);

    return (size_t)(record->value - 1 - record->key) == len && !memcmp(record->key, key, len);
}

static int take_text(const struct record *record, char **field, sbr_error *err)
{
    size_t len = (size_t)(record->end - record->value);

    if (len == 0 || memchr(record->value, '\0', len))
        return tar_fault(err, "has an empty name, or a NUL in one");
    free(*field);
    *field = strndup(record->value, len);
    return *field ? 0 : err_set_oom(err, "import");
}

static int take_record(const struct record *record, struct tar_extension *extension, sbr_error *err)
{
    if (is_key(record, "path"))
        return take_text(record, &extension->path, err);
    if (is_key(record, "linkpath"))
        return take_text(record, &extension->link, err);
    if (is_key(record, "size")) {
        extension->has_size =
            parse_digits(record->value, record->end, &extension->size) == record->end;
        return extension->has_size ? 0 : tar_fault(err, "has a size that is negative or no number");
    }
    if (is_key(record, "mtime")) {
        extension->has_mtime = parse_time(record->value, record->end, &extension->mtime);
        return extension->has_mtime ? 0 : tar_fault(err, "has a time that is no number");
    }
    return 0;
}

static bool has_meaning(const struct record *record)
{
    return is_key(record, "path") || is_key(record, "linkpath") || is_key(record, "size");
}

static int check_record(const struct record *record, bool global, sbr_error *err)
{
    static const char sparse[] = "GNU.sparse.";

    if (!strncmp(record->key, sparse, sizeof(sparse) - 1))
        return tar_fault(err, "has files with holes in GNU's own form; make it without --sparse");
    if (global && has_meaning(record))
        return tar_fault(err, "gives one name or size to all of its entries");
    return 0;
}

int tar_pax_take(const char *data, size_t len, bool global, struct tar_extension *extension,
                 sbr_error *err)
{
    const char *end = data + len;

    while (data < end) {
        struct record record;
        uint64_t record_len;
        const char *equals;

        record.key = parse_digits(data, end, &record_len);
        if (!record.key || *record.key != ' ' || record_len > (uint64_t)(end - data) ||
            data + record_len <= record.key + 1 || data[record_len - 1] != '\n')
            return tar_fault(err, "has an extension that is not whole");
        record.key++;
        record.end = data + record_len - 1;
        equals = memchr(record.key, '=', (size_t)(record.end - record.key));
        if (!equals || equals == record.key)
            return tar_fault(err, "has an extension that is not whole");
        record.value = equals + 1;
        if (check_record(&record, global, err) < 0 ||
            (!global && take_record(&record, extension, err) < 0))
            return err->code;
        data += record_len;
    }
    return 0;
}
