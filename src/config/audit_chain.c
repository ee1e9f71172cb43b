#include "config/audit_chain.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lock_file.h"
#include "base/text.h"

#define AUDIT_LOCK "audit.lock"
#define HASH_KEY ",\"hash\":\""
#define PREV_KEY ",\"prev\":\""
#define TAIL_LEN (strlen(HASH_KEY) + 64 + 2) /* the hash, a quote and a brace */
#define OPENING "{\"kind\":\"continued\",\"outcome\":\"continued\",\"lines_before\":"

/* Takes the lock, which orders all writers of all records, and opens the file behind it. */
static int open_chain(enum audit_record record, uint64_t keep, struct state_dir *dir, int *ret_lock,
                      int *ret_fd, sbr_error *err)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

    if (state_open(".", true, dir, err) < 0)
        return err->code;
    *ret_lock = openat(dir->fd, AUDIT_LOCK, flags, 0600);
    if (*ret_lock >= 0 && lock_file_wait(*ret_lock) == 0) {
        if (audit_files_rotate(dir->fd, record, keep, err) < 0)
            return err->code;
        *ret_fd = openat(dir->fd, audit_files_name(record), flags | O_APPEND, 0600);
    }
    return *ret_fd < 0 ? state_fail("open the audit in", dir->path, err) : 0;
}

int audit_chain_open(enum audit_record record, int *ret_fd, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    int fd;

    if (state_open(".", true, &dir, err) < 0)
        return err->code;
    fd = openat(dir.fd, audit_files_name(record),
                O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        state_fail("open the audit in", dir.path, err);
    state_close(&dir);
    *ret_fd = fd;
    return fd < 0 ? err->code : 0;
}

/* The hash of a line without its end; NULL: it has none, or is torn. */
static const char *hash_of(const char *line, size_t len)
{
    const char *tail = line + len - TAIL_LEN;

    if (len <= TAIL_LEN || memcmp(tail, HASH_KEY, strlen(HASH_KEY)) != 0 ||
        memcmp(line + len - 2, "\"}", 2) != 0)
        return NULL;
    return tail + strlen(HASH_KEY);
}

/* The last line that is whole, of a file.  *ret_torn: bytes without an end are behind it. */
static bool find_last_hash(int fd, char hash[SHA256_HEX_SIZE], bool *ret_torn)
{
    char tail[3 * AUDIT_LINE_MAX];
    off_t size = lseek(fd, 0, SEEK_END), from = size - (off_t)sizeof(tail);
    ssize_t n = pread(fd, tail, sizeof(tail), from > 0 ? from : 0);
    const char *found = NULL;

    *ret_torn = n > 0 && tail[n - 1] != '\n';
    for (ssize_t end = n; end > 0 && !found;) {
        ssize_t start = --end;

        while (start > 0 && tail[start - 1] != '\n')
            start--;
        if (tail[end] == '\n')
            found = hash_of(tail + start, (size_t)(end - start));
        end = start;
    }
    if (found)
        snprintf(hash, SHA256_HEX_SIZE, "%.64s", found);
    return found != NULL;
}

/* -1: it is no line that begins a file. */
static int parse_opening(const char *line, size_t len, uint64_t *ret)
{
    char digits[24];
    size_t n, skip = strlen(OPENING);

    if (len < skip || memcmp(line, OPENING, skip) != 0)
        return -1;
    for (n = 0;
         n < sizeof(digits) - 1 && skip + n < len && line[skip + n] >= '0' && line[skip + n] <= '9';
         n++)
        digits[n] = line[skip + n];
    digits[n] = '\0';
    return text_parse_count(digits, ret) == TEXT_OK ? 0 : -1;
}

/* How many lines a file has and had before it. */
static uint64_t count_until_end(int fd)
{
    char piece[65536];
    uint64_t lines = 0, before = 0;
    off_t at = 0;
    char last = '\n';

    for (ssize_t n; (n = pread(fd, piece, sizeof(piece), at)) > 0; at += n) {
        if (!at && parse_opening(piece, (size_t)n, &before) < 0)
            before = 0;
        for (const char *p = piece; (p = memchr(p, '\n', (size_t)(piece + n - p))); p++)
            lines++;
        last = piece[n - 1];
    }
    return before + lines + (last != '\n');
}

static int write_line(int fd, const char *body, const char *prev, bool torn, sbr_error *err)
{
    char hash[SHA256_HEX_SIZE];
    struct buf line;
    size_t skip = torn ? 1 : 0;
    bool done;

    buf_init(&line, AUDIT_LINE_MAX + 1);
    buf_printf(&line, "%s%s" PREV_KEY "%s\"", torn ? "\n" : "", body, prev);
    sha256_hex(line.data ? line.data + skip : "", line.len - skip, hash);
    buf_printf(&line, HASH_KEY "%s\"}\n", hash);
    if (line.failed) {
        buf_done(&line);
        return err_set(err, SBR_E_BUG, "audit", "a line has more than %d bytes", AUDIT_LINE_MAX);
    }
    done = write(fd, line.data, line.len) == (ssize_t)line.len;
    buf_done(&line);
    return done ? 0 : state_fail("write the audit to", "the state directory", err);
}

/* A file behind another begins with what was before it.  *prev is the hash to go on from. */
static int begin_file(int dir_fd, enum audit_record record, int fd, char prev[SHA256_HEX_SIZE],
                      sbr_error *err)
{
    struct audit_files scoped_audit_files older = { .n = 0 };
    char path[AUDIT_FILES_NAME_SIZE], body[sizeof(OPENING) + 24];
    scoped_fd int last = -1;
    bool ignored;

    if (audit_files_find(dir_fd, audit_files_name(record), &older, err) < 0)
        return err->code;
    if (!older.n)
        return 0;
    audit_files_numbered(path, audit_files_name(record), older.at[older.n - 1]);
    last = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (last < 0)
        return err_set_errno(err, "audit", "cannot read '%s'", path);
    (void)find_last_hash(last, prev, &ignored);
    snprintf(body, sizeof(body), OPENING "%" PRIu64, count_until_end(last));
    if (write_line(fd, body, prev, false, err) < 0)
        return err->code;
    return find_last_hash(fd, prev, &ignored) ? 0 : err_set(err, SBR_E_BUG, "audit", "no hash");
}

static int write_chained(int dir_fd, enum audit_record record, int fd, const char *body,
                         sbr_error *err)
{
    char prev[SHA256_HEX_SIZE];
    bool torn;

    memset(prev, '0', SHA256_HEX_SIZE - 1);
    prev[SHA256_HEX_SIZE - 1] = '\0';
    if (!find_last_hash(fd, prev, &torn) && !torn && !lseek(fd, 0, SEEK_END) &&
        begin_file(dir_fd, record, fd, prev, err) < 0)
        return err->code;
    return write_line(fd, body, prev, torn, err);
}

int audit_chain_append(enum audit_record record, const char *body, const char *code, uint64_t keep,
                       sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    scoped_fd int lock = -1, fd = -1;
    int r = open_chain(record, keep, &dir, &lock, &fd, err);

    if (r == 0 && code) /* the code goes first: no line names code that is not there */
        r = audit_code_append(dir.fd, code, err);
    if (r == 0)
        r = write_chained(dir.fd, record, fd, body, err);
    state_close(&dir);
    return r;
}

int audit_chain_retain(uint64_t seconds, uint64_t keep, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    scoped_fd int lock = -1;
    int r = state_open(".", false, &dir, err);

    if (r == 1 && lock_file_open(dir.fd, AUDIT_LOCK, &lock) == LOCK_FILE_HELD)
        for (int i = 0; r == 1 && i < N_AUDIT_RECORDS; i++)
            if (audit_files_retain(dir.fd, (enum audit_record)i, seconds, keep, err) < 0)
                r = err->code;
    state_close(&dir);
    return r < 0 ? r : 0;
}

/* The state of audit_chain_verify between two lines. */
struct verifier {
    struct audit_chain *chain;
    uint64_t number;
    uint64_t unsure; /* lines without a hash since the last one with */
};

static const char *prev_of(const char *line, size_t len)
{
    const char *prev = line + len - TAIL_LEN - 65 - strlen(PREV_KEY);

    if (len < TAIL_LEN + 65 + strlen(PREV_KEY) || memcmp(prev, PREV_KEY, strlen(PREV_KEY)) != 0)
        return NULL;
    return prev + strlen(PREV_KEY);
}

/* What the first line says of those before it. */
static void look_at_first(struct audit_chain *chain, const char *line, size_t len)
{
    const char *prev = prev_of(line, len);

    if (prev && strspn(prev, "0") < 64 && parse_opening(line, len, &chain->gone) < 0)
        chain->gone_unknown = true;
}

static bool follows(const struct verifier *v, const char *line, size_t len)
{
    const struct audit_chain *chain = v->chain;
    const char *prev = prev_of(line, len);
    char hash[SHA256_HEX_SIZE];
    uint64_t before;

    if (!prev)
        return false;
    sha256_hex(line, len - TAIL_LEN, hash);
    if (memcmp(hash, hash_of(line, len), 64) != 0 ||
        (chain->lines && memcmp(prev, chain->head, 64) != 0))
        return false;
    return !chain->lines || chain->gone_unknown || parse_opening(line, len, &before) < 0 ||
           before == chain->gone + v->number - 1;
}

static void verify_line(void *context, const char *line, size_t len)
{
    struct verifier *v = context;
    const char *hash = hash_of(line, len);

    v->number++;
    if (!hash) {
        *(v->chain->lines ? &v->unsure : &v->chain->unchained) += 1;
        return;
    }
    if (v->number == 1)
        look_at_first(v->chain, line, len);
    if (!follows(v, line, len) && !v->chain->first_bad)
        v->chain->first_bad = v->number;
    v->chain->torn += v->unsure;
    v->unsure = 0;
    v->chain->lines++;
    snprintf(v->chain->head, sizeof(v->chain->head), "%.64s", hash);
}

int audit_chain_verify(enum audit_record record, struct audit_chain *ret, sbr_error *err)
{
    struct verifier v = { .chain = ret };

    *ret = (struct audit_chain){ .lines = 0 };
    if (audit_chain_read(record, verify_line, &v, err) < 0)
        return err->code;
    ret->torn += v.unsure;
    return 0;
}

/* The file that grows is opened together with the look at the names, under the lock: otherwise it
 * could become an older one in between, and nobody would read it. */
static int look_at_files(const char *name, struct state_dir *dir, struct audit_files *ret_older,
                         int *ret_newest, sbr_error *err)
{
    scoped_fd int lock = -1;
    int r = state_open(".", false, dir, err);

    if (r != 1)
        return r;
    lock = openat(dir->fd, AUDIT_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock >= 0)
        (void)lock_file_wait(lock);
    *ret_newest = openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return audit_files_find(dir->fd, name, ret_older, err);
}

static int read_all(const char *name, size_t longest, audit_visit *visit, void *context,
                    sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    struct audit_files scoped_audit_files older = { .n = 0 };
    scoped_fd int newest = -1;
    int r = look_at_files(name, &dir, &older, &newest, err);

    for (size_t i = 0; r == 0 && i < older.n; i++) {
        char path[AUDIT_FILES_NAME_SIZE];
        scoped_fd int fd = -1;

        audit_files_numbered(path, name, older.at[i]);
        fd = openat(dir.fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0)
            r = audit_files_visit(fd, longest, visit, context, err);
    }
    if (r == 0 && newest >= 0)
        r = audit_files_visit(newest, longest, visit, context, err);
    state_close(&dir);
    return r;
}

int audit_chain_read(enum audit_record record, audit_visit *visit, void *context, sbr_error *err)
{
    return read_all(audit_files_name(record), 16 * (size_t)AUDIT_LINE_MAX, visit, context, err);
}

int audit_chain_read_code(audit_visit *visit, void *context, sbr_error *err)
{
    return read_all(AUDIT_CODE_NAME, 4 * (size_t)AUDIT_CODE_MAX, visit, context, err);
}
