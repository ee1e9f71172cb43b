#include "config/audit_chain.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/text.h"

/* clang-format off */
static const struct {
    const char *name, *beside; /* what goes with its lines */
    uint64_t beside_max;
} records[N_AUDIT_RECORDS] = {
    [AUDIT_RUNS]    = { "audit.jsonl",         AUDIT_CODE_NAME, AUDIT_CODE_FILE_MAX },
    [AUDIT_REFUSED] = { "audit-refused.jsonl", NULL,            0 },
};
/* clang-format on */

const char *audit_files_name(enum audit_record record)
{
    return records[record].name;
}

void audit_files_done(struct audit_files *older)
{
    free(older->at);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int audit_files_find(int dir_fd, const char *name, struct audit_files *ret, sbr_error *err)
{
    struct listing scoped_listing listing = { 0 };
    size_t len = strlen(name);

    if (listing_read_at(dir_fd, ".", &listing) < 0)
        return err_set_errno(err, "audit", "cannot list the files of the audit");
    ret->at = calloc(listing.n + 1, sizeof(*ret->at));
    if (!ret->at)
        return err_set_oom(err, "audit");
    for (size_t i = 0; i < listing.n; i++) {
        const char *one = listing.names[i];

        if (!strncmp(one, name, len) && one[len] == '.' &&
            text_parse_count(one + len + 1, &ret->at[ret->n]) == TEXT_OK)
            ret->n++;
    }
    qsort(ret->at, ret->n, sizeof(*ret->at), compare_numbers);
    return 0;
}

void audit_files_numbered(char path[AUDIT_FILES_NAME_SIZE], const char *name, uint64_t number)
{
    if (number)
        snprintf(path, AUDIT_FILES_NAME_SIZE, "%s.%" PRIu64, name, number);
    else
        snprintf(path, AUDIT_FILES_NAME_SIZE, "%s", name);
}

static uint64_t size_of(int dir_fd, const char *name, uint64_t number)
{
    char path[AUDIT_FILES_NAME_SIZE];
    struct stat st;

    if (!name)
        return 0;
    audit_files_numbered(path, name, number);
    return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (uint64_t)st.st_size;
}

static uint64_t sum_of(int dir_fd, enum audit_record record, uint64_t number)
{
    return size_of(dir_fd, records[record].name, number) +
           size_of(dir_fd, records[record].beside, number);
}

static bool is_older_than(int dir_fd, enum audit_record record, uint64_t number, uint64_t seconds)
{
    char path[AUDIT_FILES_NAME_SIZE];
    struct stat st;

    audit_files_numbered(path, records[record].name, number);
    return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - st.st_mtime > (time_t)seconds;
}

/* The oldest goes first: what is left is the end of the chain, without a gap. */
static void make_room(int dir_fd, enum audit_record record, const struct audit_files *older,
                      uint64_t seconds, uint64_t keep)
{
    uint64_t all = 0;

    for (size_t i = 0; i < older->n; i++)
        all += sum_of(dir_fd, record, older->at[i]);
    for (size_t i = 0; i < older->n; i++) {
        char path[AUDIT_FILES_NAME_SIZE];

        if (all <= keep && !is_older_than(dir_fd, record, older->at[i], seconds))
            return;
        all -= sum_of(dir_fd, record, older->at[i]);
        if (records[record].beside) {
            audit_files_numbered(path, records[record].beside, older->at[i]);
            (void)unlinkat(dir_fd, path, 0);
        }
        audit_files_numbered(path, records[record].name, older->at[i]);
        (void)unlinkat(dir_fd, path, 0);
    }
}

/* The code goes with its lines, also where the configuration keeps none
 * any more. */
int audit_files_rotate(int dir_fd, enum audit_record record, uint64_t keep, sbr_error *err)
{
    const char *name = records[record].name, *beside = records[record].beside;
    struct audit_files scoped_audit_files older = { .n = 0 };
    char path[AUDIT_FILES_NAME_SIZE];
    uint64_t next;

    if (size_of(dir_fd, name, 0) < AUDIT_FILE_MAX &&
        (!beside || size_of(dir_fd, beside, 0) < records[record].beside_max))
        return 0;
    if (audit_files_find(dir_fd, name, &older, err) < 0)
        return err->code;
    next = older.n ? older.at[older.n - 1] + 1 : 1;
    audit_files_numbered(path, name, next);
    if (renameat(dir_fd, name, dir_fd, path) < 0)
        return err_set_errno(err, "audit", "cannot rename '%s', which is full", name);
    if (beside) {
        audit_files_numbered(path, beside, next);
        (void)renameat(dir_fd, beside, dir_fd, path);
    }
    make_room(dir_fd, record, &older, UINT32_MAX, keep);
    return 0;
}

int audit_files_retain(int dir_fd, enum audit_record record, uint64_t seconds, uint64_t keep,
                       sbr_error *err)
{
    struct audit_files scoped_audit_files older = { .n = 0 };

    if (audit_files_find(dir_fd, records[record].name, &older, err) < 0)
        return err->code;
    make_room(dir_fd, record, &older, seconds, keep);
    return 0;
}

/* A part of a line that is longer than any of ours is a line, too: it is damaged. */
int audit_files_visit(int fd, size_t longest, audit_visit *visit, void *context, sbr_error *err)
{
    scoped_free char *text = malloc(longest);
    size_t len = 0;
    ssize_t n;

    if (!text)
        return err_set_oom(err, "audit");
    while ((n = read(fd, text + len, longest - len)) > 0) {
        char *line = text, *end;

        len += (size_t)n;
        while ((end = memchr(line, '\n', (size_t)(text + len - line)))) {
            visit(context, line, (size_t)(end - line));
            line = end + 1;
        }
        if (line == text && len == longest) {
            visit(context, text, len);
            line = text + len;
        }
        len = (size_t)(text + len - line);
        memmove(text, line, len);
    }
    if (n < 0)
        return err_set_errno(err, "audit", "cannot read the audit");
    if (len)
        visit(context, text, len);
    return 0;
}
