#include "config/audit_chain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/inode.h"
#include "base/jsonw.h"

#define PROGRAM_MAX (64u << 20)

/* A program of the project is not in the request. */
static void read_program(const sbr_request *req, struct audit_program *p)
{
    scoped_fd int dir = req->project ? open(req->project, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat st;
    scoped_fd int fd = dir >= 0 ? inode_open_regular(dir, req->program, &st) : -1;
    sbr_error ignored; /* the run reports a file that it cannot read */

    if (fd >= 0)
        (void)!fd_read_text(fd, PROGRAM_MAX, &p->program_data, &p->program_len, &ignored);
}

void audit_program_of(const sbr_request *req, struct audit_program *ret)
{
    *ret = (struct audit_program){ .language = req->language,
                                   .files = req->files,
                                   .n_files = req->n_files,
                                   .code = req->code,
                                   .code_len = req->code_len,
                                   .program = req->program };
    if (!req->language) /* otherwise they may be secrets */
        ret->args = req->args;
    if (req->program)
        read_program(req, ret);
}

void audit_program_done(struct audit_program *p)
{
    free(p->program_data);
    p->program_data = NULL;
}

void audit_program_digest(const struct audit_program *p, char hex[SHA256_HEX_SIZE])
{
    struct sha256 sum;

    if (p->is_cell) {
        sha256_hex(p->code, p->code_len, hex);
        return;
    }
    sha256_init(&sum);
    sha256_add_text(&sum, p->language);
    for (size_t i = 0; i < p->n_files; i++) {
        sha256_add_text(&sum, p->files[i].path);
        sha256_add_u64(&sum, p->files[i].len);
        sha256_add(&sum, p->files[i].data, p->files[i].len);
    }
    sha256_add_u64(&sum, p->code_len);
    if (p->code)
        sha256_add(&sum, p->code, p->code_len);
    if (p->program)
        sha256_add_text(&sum, p->program);
    if (p->program_data)
        sha256_add(&sum, p->program_data, p->program_len);
    for (size_t i = 0; i < p->args.n; i++)
        sha256_add_text(&sum, p->args.items[i]);
    sha256_finish_hex(&sum, hex);
}

static size_t size_of(const struct audit_program *p)
{
    size_t size = p->code_len + p->program_len;

    for (size_t i = 0; i < p->n_files; i++)
        size += p->files[i].len;
    for (size_t i = 0; i < p->args.n; i++)
        size += strlen(p->args.items[i]);
    return size;
}

/* All of it may be any bytes. */
static void put(struct jsonw *j, const char *key, const char *data, size_t len)
{
    scoped_free char *text = data ? encoding_to_base64(data, len) : NULL;

    if (text)
        jsonw_text(j, key, text);
    else if (data)
        j->out.failed = true;
}

static void put_text(struct jsonw *j, const char *key, const char *text)
{
    put(j, key, text, text ? strlen(text) : 0);
}

char *audit_program_line(const struct audit_program *p, const char *digest)
{
    struct jsonw j;

    if (size_of(p) > AUDIT_CODE_MAX)
        return NULL;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "program_sha256", digest);
    put_text(&j, "language", p->language);
    put(&j, p->is_cell ? "cell" : "code", p->code, p->code_len);
    put_text(&j, "program", p->program);
    put(&j, "program_data", p->program_data, p->program_len);
    jsonw_open(&j, "files", '[');
    for (size_t i = 0; i < p->n_files; i++) {
        jsonw_open(&j, NULL, '{');
        put_text(&j, "path", p->files[i].path);
        put(&j, "data", p->files[i].data, p->files[i].len);
        jsonw_close(&j, '}');
    }
    jsonw_close(&j, ']');
    jsonw_open(&j, "args", '[');
    for (size_t i = 0; i < p->args.n; i++)
        put_text(&j, NULL, p->args.items[i]);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

/* True when a writer was killed in the middle of the last line. */
static bool is_torn(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char last;

    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

int audit_code_append(int dir_fd, const char *line, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, AUDIT_CODE_NAME, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct buf out;
    bool done;

    buf_init(&out, 4 * (size_t)AUDIT_CODE_MAX);
    buf_printf(&out, "%s%s\n", fd >= 0 && is_torn(fd) ? "\n" : "", line);
    done = fd >= 0 && !out.failed && fd_write_all(fd, out.data, out.len) == 0;
    buf_done(&out);
    return done ? 0 : state_fail("write to the audit", AUDIT_CODE_NAME, err);
}
