#include "config/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/jsonw.h"
#include "base/lock_file.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/text.h"
#include "changes/state_dir.h"
#include "config/audit_code.h"
#include "config/config.h"

#define AUDIT_NAME "audit.jsonl"
#define AUDIT_OLD "audit.jsonl.1"
#define AUDIT_LOCK "audit.lock"
#define AUDIT_HASH_KEY ",\"hash\":\""
#define AUDIT_TAIL_LEN (strlen(AUDIT_HASH_KEY) + 64 + 2) /* the hash, a quote and a brace */
#define SHOWN_MAX 200 /* bytes of a text in a line; it may become six times as long */

static bool is_full(const struct state_dir *dir)
{
    struct stat lines, code;

    return (fstatat(dir->fd, AUDIT_NAME, &lines, AT_SYMLINK_NOFOLLOW) == 0 &&
            (uint64_t)lines.st_size >= AUDIT_FILE_MAX) ||
           (fstatat(dir->fd, AUDIT_CODE_NAME, &code, AT_SYMLINK_NOFOLLOW) == 0 &&
            (uint64_t)code.st_size >= AUDIT_CODE_FILE_MAX);
}

/* One process rotates; the others go on with the file that they have open.  The code goes with its
 * lines, also where the configuration keeps none any more. */
static void rotate(const struct state_dir *dir)
{
    scoped_fd int lock = -1;

    if (!is_full(dir) || lock_file_open(dir->fd, AUDIT_LOCK, &lock) != LOCK_FILE_HELD ||
        !is_full(dir))
        return;
    (void)renameat(dir->fd, AUDIT_NAME, dir->fd, AUDIT_OLD);
    if (renameat(dir->fd, AUDIT_CODE_NAME, dir->fd, AUDIT_CODE_OLD) < 0 && errno == ENOENT)
        (void)unlinkat(dir->fd, AUDIT_CODE_OLD, 0);
}

int audit_open(int *ret_fd, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    int fd;

    if (state_open(".", true, &dir, err) < 0)
        return err->code;
    rotate(&dir);
    fd = openat(dir.fd, AUDIT_NAME, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        state_fail("open the audit in", dir.path, err);
    state_close(&dir);
    *ret_fd = fd;
    return fd < 0 ? err->code : 0;
}

static void put_text(struct jsonw *j, const char *key, const char *text)
{
    char shown[SHOWN_MAX];

    if (!text)
        return;
    text_copy_visibly(shown, sizeof(shown), text, strlen(text));
    jsonw_text(j, key, shown);
}

static const char *name_of(const sbr_request *req)
{
    if (req->program)
        return req->program;
    if (req->n_files)
        return req->files[0].path;
    return !req->language && req->args.n ? req->args.items[0] : NULL;
}

/* No argument and no variable: they may be secrets. */
static void put_request(struct jsonw *j, const sbr_request *req)
{
    jsonw_open(j, "request", '{');
    put_text(j, "language", req->language);
    put_text(j, "program", name_of(req));
    jsonw_number(j, "args", req->args.n);
    jsonw_number(j, "dependencies", req->deps.n);
    jsonw_number(j, "volumes", req->n_volumes);
    put_text(j, "project", req->project);
    put_text(j, "workspace", req->workspace);
    put_text(j, "policy", req->policy ? req->policy : "default");
    jsonw_text(j, "network", network_mode_name(req->network.mode));
    jsonw_number(j, "hosts", req->network.n_rules);
    jsonw_close(j, '}');
}

static void put_result(struct jsonw *j, const sbr_result *result)
{
    const struct sbr_report *report = &result->report;

    jsonw_text(j, "outcome", result_verdict_name(result->verdict));
    if (report->exit_code >= 0)
        jsonw_number(j, "exit_code", (uint64_t)report->exit_code);
    if (report->signal)
        jsonw_number(j, "signal", (uint64_t)report->signal);
    jsonw_number(j, "wall_us", report->wall_us);
    jsonw_number(j, "cpu_us", report->cpu_us);
    jsonw_number(j, "peak_memory_bytes", report->peak_memory_bytes);
    jsonw_number(j, "total_us", result->total_us);
    jsonw_number(j, "denials", result->denials.n);
    jsonw_text(j, "isolation", request_tier_name(result->isolation.tier));
    if (result->explanation[0])
        put_text(j, "explanation", result->explanation);
}

/* Without the program. */
static void put_entry(struct jsonw *j, const sbr_request *req, const sbr_result *result,
                      const sbr_error *failure)
{
    char time[RESULT_TIME_SIZE], id[ENCODING_ID_SIZE] = "";

    result_format_time(result ? result->started_at_us : clock_read_us(CLOCK_REALTIME), time);
    if (!result)
        (void)encoding_random_id(id);
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "time", time);
    jsonw_text(j, "id", result ? result->id : id);
    jsonw_number(j, "uid", getuid());
    if (req->caller[0])
        put_text(j, "caller", req->caller);
    put_request(j, req);
    if (result) {
        put_result(j, result);
    } else {
        jsonw_text(j, "outcome", result_error_name(failure->code));
        put_text(j, "error", failure->message);
    }
}

/* Takes the lock, and opens the file that has the name now: another process may have rotated it. */
static int open_chain(struct state_dir *dir, int *ret_lock, int *ret_fd, sbr_error *err)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

    if (state_open(".", true, dir, err) < 0)
        return err->code;
    *ret_lock = openat(dir->fd, AUDIT_LOCK, flags, 0600);
    if (*ret_lock >= 0 && lock_file_wait(*ret_lock) == 0)
        *ret_fd = openat(dir->fd, AUDIT_NAME, flags | O_APPEND, 0600);
    if (*ret_fd < 0)
        return state_fail("open the audit in", dir->path, err);
    return 0;
}

/* The hash of a line without its end; NULL: it has none, or is torn. */
static const char *hash_of(const char *line, size_t len)
{
    const char *tail = line + len - AUDIT_TAIL_LEN;

    if (len <= AUDIT_TAIL_LEN || memcmp(tail, AUDIT_HASH_KEY, strlen(AUDIT_HASH_KEY)) != 0 ||
        memcmp(line + len - 2, "\"}", 2) != 0)
        return NULL;
    return tail + strlen(AUDIT_HASH_KEY);
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

static void find_previous(const struct state_dir *dir, int fd, char hash[SHA256_HEX_SIZE],
                          bool *ret_torn)
{
    scoped_fd int old = -1;
    bool ignored;

    memset(hash, '0', SHA256_HEX_SIZE - 1);
    hash[SHA256_HEX_SIZE - 1] = '\0';
    if (find_last_hash(fd, hash, ret_torn))
        return;
    old = openat(dir->fd, AUDIT_OLD, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (old >= 0)
        (void)find_last_hash(old, hash, &ignored);
}

/* `body` is an object without its last brace. */
static int write_chained(const struct state_dir *dir, int fd, const char *body, sbr_error *err)
{
    char prev[SHA256_HEX_SIZE], hash[SHA256_HEX_SIZE];
    struct buf line;
    size_t skip;
    bool torn, done;

    find_previous(dir, fd, prev, &torn);
    buf_init(&line, AUDIT_LINE_MAX + 1);
    buf_printf(&line, "%s%s,\"prev\":\"%s\"", torn ? "\n" : "", body, prev);
    skip = torn ? 1 : 0;
    sha256_hex(line.data ? line.data + skip : "", line.len - skip, hash);
    buf_printf(&line, AUDIT_HASH_KEY "%s\"}\n", hash);
    if (line.failed) {
        buf_done(&line);
        return err_set(err, SBR_E_BUG, "audit", "a line has more than %d bytes", AUDIT_LINE_MAX);
    }
    done = write(fd, line.data, line.len) == (ssize_t)line.len;
    buf_done(&line);
    return done ? 0 : state_fail("write the audit to", AUDIT_NAME, err);
}

/* Takes the writer's text over.  The code goes first: no line names code that is not there. */
static int append(struct jsonw *j, const char *code, sbr_error *err)
{
    scoped_free char *body = jsonw_take(j);
    struct state_dir dir = { .fd = -1 };
    scoped_fd int lock = -1, fd = -1;
    int r = !body ? err_set_oom(err, "audit") : open_chain(&dir, &lock, &fd, err);

    if (r == 0 && code)
        r = audit_code_append(dir.fd, code, err);
    if (r == 0)
        r = write_chained(&dir, fd, body, err);
    state_close(&dir);
    return r;
}

/* The digest, and the code where it is kept; the caller frees the line for it. */
static char *put_program(struct jsonw *j, const struct audit_program *program, bool keeps)
{
    char digest[SHA256_HEX_SIZE], *line;

    audit_program_digest(program, digest);
    jsonw_text(j, "program_sha256", digest);
    line = keeps ? audit_program_line(program, digest) : NULL;
    if (keeps)
        jsonw_bool(j, "code_kept", line != NULL);
    return line;
}

int audit_append(const sbr_request *req, const sbr_result *result, const sbr_error *failure,
                 sbr_error *err)
{
    struct audit_program program;
    scoped_free char *code = NULL;
    struct jsonw j;

    jsonw_init(&j, false);
    put_entry(&j, req, result, failure);
    audit_program_of(req, &program);
    code = put_program(&j, &program, req->audit_code);
    audit_program_done(&program);
    return append(&j, code, err);
}

static void put_note(struct jsonw *j, const char *kind, const struct audit_field *fields, size_t n)
{
    char time[RESULT_TIME_SIZE], id[ENCODING_ID_SIZE] = "";

    result_format_time(clock_read_us(CLOCK_REALTIME), time);
    (void)encoding_random_id(id);
    jsonw_init(j, false);
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "time", time);
    jsonw_text(j, "id", id);
    jsonw_number(j, "uid", getuid());
    jsonw_text(j, "kind", kind);
    jsonw_text(j, "outcome", kind);
    for (size_t i = 0; i < n; i++)
        put_text(j, fields[i].name, fields[i].value);
}

int audit_note(const char *kind, const struct audit_field *fields, size_t n, sbr_error *err)
{
    struct jsonw j;

    put_note(&j, kind, fields, n);
    return append(&j, NULL, err);
}

int audit_note_cell(const struct audit_field *fields, size_t n, const struct audit_program *cell,
                    bool keeps_code, sbr_error *err)
{
    scoped_free char *code = NULL;
    scoped_fd int rotated = -1; /* sessions may live where no run ever begins */
    struct jsonw j;

    if (audit_open(&rotated, err) < 0)
        return err->code;
    put_note(&j, "cell", fields, n);
    code = put_program(&j, cell, keeps_code);
    return append(&j, code, err);
}

int audit_note_if_wanted(const char *kind, const struct audit_field *fields, size_t n,
                         sbr_error *err)
{
    struct config config;
    int r = config_load(NULL, &config, err);

    if (r < 0)
        return r;
    if (config.audit)
        r = audit_note(kind, fields, n, err);
    config_done(&config);
    return r;
}

/* The state of audit_verify between two lines. */
struct verifier {
    struct audit_chain *chain;
    uint64_t number;
    uint64_t unsure; /* lines without a hash since the last one with */
};

static bool follows(const struct verifier *v, const char *line, size_t len)
{
    static const char key[] = ",\"prev\":\"";
    const char *prev = line + len - AUDIT_TAIL_LEN - 65 - strlen(key);
    char hash[SHA256_HEX_SIZE];

    if (len < AUDIT_TAIL_LEN + 65 + strlen(key) || memcmp(prev, key, strlen(key)) != 0)
        return false;
    sha256_hex(line, len - AUDIT_TAIL_LEN, hash);
    return !memcmp(hash, hash_of(line, len), 64) &&
           (!v->chain->lines || !memcmp(prev + strlen(key), v->chain->head, 64));
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
    if (!follows(v, line, len) && !v->chain->first_bad)
        v->chain->first_bad = v->number;
    v->chain->torn += v->unsure;
    v->unsure = 0;
    v->chain->lines++;
    snprintf(v->chain->head, sizeof(v->chain->head), "%.64s", hash);
}

int audit_verify(struct audit_chain *ret, sbr_error *err)
{
    struct verifier v = { .chain = ret };

    *ret = (struct audit_chain){ .lines = 0 };
    if (audit_read(verify_line, &v, err) < 0)
        return err->code;
    ret->torn += v.unsure;
    return 0;
}

static void visit_lines(char *text, audit_visit *visit, void *context)
{
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end) {
            visit(context, line, strlen(line));
            return;
        }
        visit(context, line, (size_t)(end - line));
    }
}

/* The older file first. */
static int read_files(const char *const names[2], uint64_t max, audit_visit *visit, void *context,
                      sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    int r = state_open(".", false, &dir, err);

    for (size_t i = 0; r == 1 && i < 2; i++) {
        scoped_fd int fd = openat(dir.fd, names[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        scoped_free char *text = NULL;
        size_t len;

        if (fd < 0)
            continue;
        if (fd_read_text(fd, max, &text, &len, err) < 0)
            r = err->code;
        else
            visit_lines(text, visit, context);
    }
    state_close(&dir);
    return r < 0 ? r : 0;
}

int audit_read(audit_visit *visit, void *context, sbr_error *err)
{
    static const char *const names[] = { AUDIT_OLD, AUDIT_NAME };

    return read_files(names, AUDIT_FILE_MAX * 2, visit, context, err);
}

int audit_read_code(audit_visit *visit, void *context, sbr_error *err)
{
    static const char *const names[] = { AUDIT_CODE_OLD, AUDIT_CODE_NAME };

    return read_files(names, AUDIT_CODE_FILE_MAX * 2, visit, context, err);
}
