#include "patch_model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read line by line. */
struct cursor {
    struct text text;
    size_t at, lines; /* bytes and whole lines that were read */
};

static bool next_line(struct cursor *c, struct text *ret)
{
    const char *start, *end;

    if (c->at >= c->text.len)
        return false;
    start = c->text.data + c->at;
    end = memchr(start, '\n', c->text.len - c->at);
    *ret = (struct text){ start, end ? (size_t)(end - start) + 1 : c->text.len - c->at };
    c->at += ret->len;
    c->lines++;
    return true;
}

struct numbers {
    unsigned long start, n;
};

static bool read_numbers(const char **at, char sign, struct numbers *ret)
{
    char *end;

    if (*(*at)++ != sign || !isdigit((unsigned char)**at))
        return false;
    ret->start = strtoul(*at, &end, 10);
    ret->n = 1;
    if (*end == ',')
        ret->n = strtoul(end + 1, &end, 10);
    *at = end;
    return true;
}

static bool read_head(struct text line, struct numbers *before, struct numbers *after)
{
    char copy[100];
    const char *at = copy + 3;

    if (line.len >= sizeof(copy) || line.len < 8)
        return false;
    memcpy(copy, line.data, line.len);
    copy[line.len] = '\0';
    return !strncmp(copy, "@@ ", 3) && read_numbers(&at, '-', before) && *at++ == ' ' &&
           read_numbers(&at, '+', after) && !strcmp(at, " @@\n");
}

struct patching {
    struct cursor before, hunks;
    struct buf out;
    size_t out_lines;
};

static bool copy_until(struct patching *p, size_t line)
{
    struct text text;

    while (p->before.lines < line) {
        if (!next_line(&p->before, &text))
            return false;
        buf_add(&p->out, text.data, text.len);
        p->out_lines++;
    }
    return p->before.lines == line;
}

/* A line of a hunk without its sign, and without its newline when the next line says that there is
 * none. */
static bool next_body(struct patching *p, char *ret_sign, struct text *ret)
{
    struct cursor ahead;
    struct text note;

    if (!next_line(&p->hunks, ret) || ret->data[ret->len - 1] != '\n')
        return false;
    *ret_sign = ret->data[0];
    *ret = (struct text){ ret->data + 1, ret->len - 1 };
    ahead = p->hunks;
    if (next_line(&ahead, &note) && note.data[0] == '\\') {
        p->hunks = ahead;
        ret->len--;
    }
    return true;
}

static bool apply_hunk(struct patching *p, struct numbers before, struct numbers after)
{
    struct text body, there;
    char sign;

    if (!copy_until(p, before.n ? before.start - 1 : before.start) ||
        p->out_lines != (after.n ? after.start - 1 : after.start))
        return false;
    while (before.n > 0 || after.n > 0) {
        if (!next_body(p, &sign, &body) || !strchr(" +-", sign))
            return false;
        if (sign != '+') {
            if (before.n-- == 0 || !next_line(&p->before, &there) || there.len != body.len ||
                memcmp(there.data, body.data, body.len) != 0)
                return false;
        }
        if (sign != '-') {
            if (after.n-- == 0)
                return false;
            buf_add(&p->out, body.data, body.len);
            p->out_lines++;
        }
    }
    return true;
}

char *patch_apply(struct text before, struct text hunks, size_t *ret_len)
{
    struct patching p = { .before = { .text = before }, .hunks = { .text = hunks } };
    struct numbers was, is;
    struct text line;

    buf_init(&p.out, SIZE_MAX / 2);
    while (next_line(&p.hunks, &line)) {
        if (read_head(line, &was, &is) && apply_hunk(&p, was, is))
            continue;
        buf_done(&p.out);
        return NULL;
    }
    while (next_line(&p.before, &line))
        buf_add(&p.out, line.data, line.len);
    return buf_take(&p.out, ret_len);
}
