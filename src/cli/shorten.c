#include "cli/shorten.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "changes/kept_output.h"

#define MOST_KEPT (1u << 30)
#define NOTICE_SIZE 200
#define NEAR 200 /* characters in which the end of a line is looked for */

/* Of the collected streams: stdout, stderr. */
struct streams {
    int saved[2]; /* where they went before; -1: not open */
    int files[2];
    char *data[2];
    size_t len[2];
};

uint64_t shorten_count(struct shorten_text text)
{
    uint64_t n = 0;

    for (size_t at = 0; at < text.len; n++) {
        size_t len = text_character_len(text.data + at, text.len - at);

        at += len ? len : 1;
    }
    return n;
}

/* The bytes of the first `n` characters. */
static size_t head_bytes(struct shorten_text text, uint64_t n)
{
    size_t at = 0;

    while (n-- && at < text.len) {
        size_t len = text_character_len(text.data + at, text.len - at);

        at += len ? len : 1;
    }
    return at;
}

/* Back to the end of a line, if one is near. */
static size_t end_of_line(const char *data, size_t at)
{
    for (size_t i = at; i > 0 && at - i < NEAR; i--)
        if (data[i - 1] == '\n')
            return i;
    return at;
}

static size_t start_of_line(struct shorten_text text, size_t at)
{
    for (size_t i = at; i < text.len && i - at < NEAR; i++)
        if (i && text.data[i - 1] == '\n')
            return i;
    return at;
}

static void write_notice(char buf[NOTICE_SIZE], bool lines, uint64_t left_out, const char *id)
{
    if (lines)
        snprintf(buf, NOTICE_SIZE, "{\"left_out_characters\":%" PRIu64 ",\"output_id\":\"%s\"}\n",
                 left_out, id);
    else
        snprintf(buf, NOTICE_SIZE,
                 "\n... %" PRIu64 " characters left out; `sandbox-run output %s` has all ...\n",
                 left_out, id);
}

/* Whole lines from the start that have at most `n` characters. */
static size_t head_lines(struct shorten_text text, uint64_t n)
{
    size_t at = head_bytes(text, n);

    while (at && text.data[at - 1] != '\n')
        at--;
    return at;
}

/* Where whole lines at the end begin that have at most `n` characters; `total`: of the text. */
static size_t tail_lines(struct shorten_text text, uint64_t total, uint64_t n)
{
    size_t at = head_bytes(text, total > n ? total - n : 0);

    while (at && at < text.len && text.data[at - 1] != '\n')
        at++;
    return at;
}

int shorten_text(struct shorten_text text, uint64_t most, bool lines, const char *id,
                 struct buf *out)
{
    uint64_t total = shorten_count(text), room, left_out;
    char notice[NOTICE_SIZE];
    size_t head, tail;

    write_notice(notice, lines, total, id);
    room = most > strlen(notice) ? most - strlen(notice) : 0;
    if (lines) {
        head = head_lines(text, room - room / 4);
        tail = tail_lines(text, total, room / 4);
    } else {
        head = end_of_line(text.data, head_bytes(text, room - room / 4));
        tail = start_of_line(text, head_bytes(text, total - room / 4));
    }
    if (tail < head)
        tail = head;
    left_out = shorten_count((struct shorten_text){ text.data + head, tail - head });
    write_notice(notice, lines, left_out, id);
    buf_add(out, text.data, head);
    buf_add_text(out, notice);
    return buf_add(out, text.data + tail, text.len - tail);
}

static int collect(struct streams *s, sbr_error *err)
{
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        s->saved[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
        s->files[i] = open(P_tmpdir, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
        if (s->files[i] < 0) /* a file system without unnamed files */
            s->files[i] = memfd_create("output", MFD_CLOEXEC);
        if (s->saved[i] < 0 || s->files[i] < 0 || dup2(s->files[i], STDOUT_FILENO + i) < 0)
            return err_set_errno(err, "output", "cannot collect what is printed");
    }
    return 0;
}

static void restore(struct streams *s)
{
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++)
        if (s->saved[i] >= 0)
            (void)dup2(s->saved[i], STDOUT_FILENO + i);
}

static int read_streams(struct streams *s, sbr_error *err)
{
    for (int i = 0; i < 2; i++)
        if (lseek(s->files[i], 0, SEEK_SET) < 0 ||
            fd_read_text(s->files[i], MOST_KEPT, &s->data[i], &s->len[i], err) < 0)
            return err_set_errno(err, "output", "cannot read what was collected");
    return 0;
}

static int keep(const struct options *o, const struct streams *s, char id[ENCODING_ID_SIZE],
                sbr_error *err)
{
    struct kept_writer writer;

    if (kept_output_begin(&kept_output_bounds, o->command->name, &writer, err) < 0)
        return err->code;
    kept_output_write(&writer, KEPT_STDOUT, s->data[0], s->len[0]);
    kept_output_write(&writer, KEPT_STDERR, s->data[1], s->len[1]);
    memcpy(id, writer.about.id, ENCODING_ID_SIZE);
    return kept_output_end(&writer, err);
}

/* Lines that the command calls bad, then all others. */
static void order(const struct options *o, const struct streams *s, struct buf *out)
{
    for (int good = 0; good < 2; good++) {
        for (size_t at = 0; at < s->len[0];) {
            const char *line = s->data[0] + at, *end = memchr(line, '\n', s->len[0] - at);
            size_t len = end ? (size_t)(end - line) + 1 : s->len[0] - at;
            bool is_good = !o->command->good_line || o->command->good_line(line, len);

            if (is_good == (good == 1))
                buf_add(out, line, len);
            at += len;
        }
    }
}

/* Errors come first: they are what one reads. */
static int print_short(const struct options *o, const struct streams *s, uint64_t most,
                       sbr_error *err)
{
    bool lines = o->json || (s->len[0] && s->data[0][0] == '{');
    uint64_t n_errors = shorten_count((struct shorten_text){ s->data[1], s->len[1] });
    char id[ENCODING_ID_SIZE];
    struct buf all, out;
    int r;

    if (keep(o, s, id, err) < 0)
        return err->code;
    buf_init(&all, 2ULL * MOST_KEPT);
    buf_init(&out, 2ULL * MOST_KEPT);
    if (!lines) {
        buf_add(&all, s->data[1], s->len[1]);
    } else if (n_errors <= most / 2) { /* no JSON, so they stay apart */
        most -= n_errors;
        (void)fwrite(s->data[1], 1, s->len[1], stderr);
    }
    order(o, s, &all);
    r = all.failed ||
                shorten_text((struct shorten_text){ all.data, all.len }, most, lines, id, &out) < 0
            ? err_set_oom(err, "output")
            : 0;
    if (r == 0)
        (void)fwrite(out.data, 1, out.len, stdout); /* cli_main checks the stream */
    buf_done(&all);
    buf_done(&out);
    return r;
}

static int print(const struct options *o, const struct streams *s, uint64_t most, sbr_error *err)
{
    uint64_t n = shorten_count((struct shorten_text){ s->data[0], s->len[0] }) +
                 shorten_count((struct shorten_text){ s->data[1], s->len[1] });

    if (n > most)
        return print_short(o, s, most, err);
    (void)fwrite(s->data[1], 1, s->len[1], stderr);
    (void)fwrite(s->data[0], 1, s->len[0], stdout);
    return 0;
}

static int read_most(const char *text, uint64_t *ret, sbr_error *err)
{
    if (text_parse_count(text, ret) != TEXT_OK || *ret < SHORTEN_LEAST)
        return err_set(err, SBR_E_INVALID, "options",
                       "--max-chars '%.40s' is no number of characters; give %d or more", text,
                       SHORTEN_LEAST);
    return 0;
}

int shorten_run(struct options *o)
{
    struct streams s = { .saved = { -1, -1 }, .files = { -1, -1 } };
    uint64_t most = 0;
    int status = 0, r;
    sbr_error err;

    r = read_most(o->max_chars, &most, &err);
    if (r == 0)
        r = collect(&s, &err);
    if (r == 0)
        status = o->command->run(o);
    restore(&s);
    if (r == 0)
        r = read_streams(&s, &err) < 0 ? err.code : print(o, &s, most, &err);
    for (int i = 0; i < 2; i++) {
        scope_close_fd(&s.saved[i]);
        scope_close_fd(&s.files[i]);
        free(s.data[i]);
    }
    return r < 0 ? cli_fail(o, &err) : status;
}
