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

#define AUDIT_NAME "audit.jsonl"
#define AUDIT_OLD "audit.jsonl.1"
#define AUDIT_LOCK "audit.lock"
#define SHOWN_MAX 200 /* bytes of a text in a line; it may become six times as long */
#define PROGRAM_MAX (64u << 20)

/* One process rotates; the others go on with the file that they have open. */
static void rotate(const struct state_dir *dir)
{
    scoped_fd int lock = -1;
    struct stat st;

    if (fstatat(dir->fd, AUDIT_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (uint64_t)st.st_size < AUDIT_FILE_MAX)
        return;
    if (lock_file_open(dir->fd, AUDIT_LOCK, &lock) != LOCK_FILE_HELD)
        return;
    if (fstatat(dir->fd, AUDIT_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (uint64_t)st.st_size >= AUDIT_FILE_MAX)
        (void)renameat(dir->fd, AUDIT_NAME, dir->fd, AUDIT_OLD);
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

/* A program of the project is not in the request. */
static void add_program_file(struct sha256 *sum, const sbr_request *req)
{
    char path[2 * REQUEST_MAX_PATH], block[16384];
    scoped_fd int fd = -1;
    ssize_t n;

    snprintf(path, sizeof(path), "%s/%s", req->project ? req->project : "", req->program);
    sha256_add_text(sum, req->program);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    for (size_t all = 0; fd >= 0 && all < PROGRAM_MAX; all += (size_t)n) {
        n = read(fd, block, sizeof(block));
        if (n <= 0)
            break;
        sha256_add(sum, block, (size_t)n);
    }
}

/* Language, files, text and command: the same digest is the same program. */
static void digest_of(const sbr_request *req, char hex[SHA256_HEX_SIZE])
{
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add_text(&sum, req->language);
    for (size_t i = 0; i < req->n_files; i++) {
        sha256_add_text(&sum, req->files[i].path);
        sha256_add_u64(&sum, req->files[i].len);
        sha256_add(&sum, req->files[i].data, req->files[i].len);
    }
    sha256_add_u64(&sum, req->code_len);
    if (req->code)
        sha256_add(&sum, req->code, req->code_len);
    if (req->program)
        add_program_file(&sum, req);
    for (size_t i = 0; !req->language && i < req->args.n; i++)
        sha256_add_text(&sum, req->args.items[i]);
    sha256_finish_hex(&sum, hex);
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

static void put_entry(struct jsonw *j, const sbr_request *req, const sbr_result *result,
                      const sbr_error *failure)
{
    char time[RESULT_TIME_SIZE], digest[SHA256_HEX_SIZE], id[ENCODING_ID_SIZE] = "";

    result_format_time(result ? result->started_at_us : clock_read_us(CLOCK_REALTIME), time);
    digest_of(req, digest);
    if (!result)
        (void)encoding_random_id(id);
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "time", time);
    jsonw_text(j, "id", result ? result->id : id);
    jsonw_number(j, "uid", getuid());
    jsonw_text(j, "program_sha256", digest);
    put_request(j, req);
    if (result) {
        put_result(j, result);
    } else {
        jsonw_text(j, "outcome", result_error_name(failure->code));
        put_text(j, "error", failure->message);
    }
    jsonw_close(j, '}');
}

int audit_append(int fd, const sbr_request *req, const sbr_result *result, const sbr_error *failure,
                 sbr_error *err)
{
    scoped_free char *line = NULL;
    struct jsonw j;
    size_t len;

    jsonw_init(&j, false);
    put_entry(&j, req, result, failure);
    line = jsonw_take(&j);
    if (!line)
        return err_set_oom(err, "audit");
    len = strlen(line);
    line[len++] = '\n'; /* in place of the NUL: a whole line in one write */
    if (len > AUDIT_LINE_MAX)
        return err_set(err, SBR_E_BUG, "audit", "a line has %zu bytes, at most %d fit", len,
                       AUDIT_LINE_MAX);
    if (write(fd, line, len) != (ssize_t)len)
        return state_fail("write the audit of a run that has ended to", AUDIT_NAME, err);
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

int audit_read(audit_visit *visit, void *context, sbr_error *err)
{
    static const char *const names[] = { AUDIT_OLD, AUDIT_NAME };
    struct state_dir dir = { .fd = -1 };
    int r = state_open(".", false, &dir, err);

    for (size_t i = 0; r == 1 && i < ARRAY_LEN(names); i++) {
        scoped_fd int fd = openat(dir.fd, names[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        scoped_free char *text = NULL;
        size_t len;

        if (fd < 0)
            continue;
        if (fd_read_text(fd, AUDIT_FILE_MAX * 2, &text, &len, err) < 0)
            r = err->code;
        else
            visit_lines(text, visit, context);
    }
    state_close(&dir);
    return r < 0 ? r : 0;
}
