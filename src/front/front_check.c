#include "front/front_check.h"

#include <ctype.h>
#include <string.h>

#define BAD_REQUEST 400
#define TOO_LARGE 431
#define FIELD_COST 64 /* of libmicrohttpd's memory for a header, a parameter or a cookie */
#define LENGTH_DIGITS 18
#define SIZE_DIGITS 8
#define VERSION "HTTP/1."

static bool is_token(unsigned char c)
{
    return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_text(unsigned char c)
{
    return c == '\t' || !iscntrl(c);
}

static bool frames(const struct front_check *k)
{
    return !strcmp(k->name, "content-length") || !strcmp(k->name, "transfer-encoding");
}

/* The next state, or -1 for a fault. */
typedef int take_byte(struct front_check *k, unsigned char c);

static int take_begin(struct front_check *k, unsigned char c)
{
    if (c == '\r')
        return CHECK_BEGIN_LF;
    k->lengths = k->encodings = k->n = 0;
    k->upgrades = false;
    return is_token(c) ? CHECK_METHOD : -1;
}

static int take_begin_lf(struct front_check *k, unsigned char c)
{
    (void)k;
    return c == '\n' ? CHECK_BEGIN : -1;
}

static int take_method(struct front_check *k, unsigned char c)
{
    k->n = 0;
    return c == ' ' ? CHECK_TARGET : is_token(c) ? CHECK_METHOD : -1;
}

static int take_target(struct front_check *k, unsigned char c)
{
    if (c == ' ' && k->n) {
        k->n = 0;
        return CHECK_VERSION;
    }
    k->n = 1;
    k->cost += c == '&' || c == '?' ? FIELD_COST : 0;
    return iscntrl(c) || c == ' ' ? -1 : CHECK_TARGET;
}

static int take_version(struct front_check *k, unsigned char c)
{
    unsigned int at = k->n++;

    if (at < strlen(VERSION))
        return c == (unsigned char)VERSION[at] ? CHECK_VERSION : -1;
    if (at > strlen(VERSION))
        return c == '\r' ? CHECK_LINE_LF : -1;
    k->is_old = c == '0';
    return c == '0' || c == '1' ? CHECK_VERSION : -1;
}

static int take_line_lf(struct front_check *k, unsigned char c)
{
    (void)k;
    return c == '\n' ? CHECK_FIELD : -1;
}

/* A space here would continue the field before. */
static int take_field(struct front_check *k, unsigned char c)
{
    if (c == '\r')
        return CHECK_HEAD_LF;
    k->cost += FIELD_COST;
    k->name[0] = (char)tolower(c);
    k->n = 1;
    k->value_n = 0;
    k->spaced = false;
    return is_token(c) ? CHECK_NAME : -1;
}

static int take_name(struct front_check *k, unsigned char c)
{
    if (c == ':') {
        k->name[k->n < sizeof(k->name) ? k->n : 0] = '\0';
        return CHECK_VALUE;
    }
    if (k->n < sizeof(k->name))
        k->name[k->n++] = (char)tolower(c);
    return is_token(c) ? CHECK_NAME : -1;
}

/* Of a field that frames: without the spaces around it, and none within. */
static bool keep_value(struct front_check *k, unsigned char c)
{
    if (c == ' ' || c == '\t') {
        k->spaced = k->value_n > 0;
        return true;
    }
    if (k->spaced || k->value_n + 1 >= sizeof(k->value))
        return false;
    k->value[k->value_n++] = (char)tolower(c);
    return true;
}

static int take_value(struct front_check *k, unsigned char c)
{
    if (c == '\r')
        return CHECK_VALUE_LF;
    if (!strcmp(k->name, "cookie")) /* libmicrohttpd makes a copy, and fields of it */
        k->cost += c == ';' ? FIELD_COST : 1;
    if (!is_text(c) || (frames(k) && !keep_value(k, c)))
        return -1;
    return CHECK_VALUE;
}

static bool take_length(struct front_check *k)
{
    if (!k->value_n || k->value_n > LENGTH_DIGITS || ++k->lengths > 1)
        return false;
    k->left = 0;
    for (unsigned int i = 0; i < k->value_n; i++) {
        if (!isdigit((unsigned char)k->value[i]))
            return false;
        k->left = k->left * 10 + (uint64_t)(k->value[i] - '0');
    }
    return true;
}

static int take_value_lf(struct front_check *k, unsigned char c)
{
    bool good = true;

    if (c != '\n')
        return -1;
    k->value[k->value_n] = '\0';
    if (!strcmp(k->name, "content-length"))
        good = take_length(k);
    if (!strcmp(k->name, "transfer-encoding"))
        good = !strcmp(k->value, "chunked") && ++k->encodings == 1;
    k->upgrades |= !strcmp(k->name, "upgrade");
    return good ? CHECK_FIELD : -1;
}

static int take_head_lf(struct front_check *k, unsigned char c)
{
    if (c != '\n' || (k->encodings && (k->lengths || k->is_old)))
        return -1;
    k->heads++;
    k->n = 0;
    k->cost = 0;
    if (k->upgrades)
        return CHECK_PASS;
    if (k->encodings)
        return CHECK_SIZE;
    return k->lengths && k->left ? CHECK_BODY : CHECK_BEGIN;
}

static int take_size(struct front_check *k, unsigned char c)
{
    if (k->n == 0)
        k->left = 0;
    if (c == '\r')
        return k->n ? CHECK_SIZE_LF : -1;
    if (!isxdigit(c) || ++k->n > SIZE_DIGITS)
        return -1;
    k->left = k->left * 16 + (uint64_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    return CHECK_SIZE;
}

static int take_size_lf(struct front_check *k, unsigned char c)
{
    k->n = 0;
    return c != '\n' ? -1 : k->left ? CHECK_CHUNK : CHECK_LAST;
}

static int take_chunk_cr(struct front_check *k, unsigned char c)
{
    (void)k;
    return c == '\r' ? CHECK_CHUNK_LF : -1;
}

static int take_chunk_lf(struct front_check *k, unsigned char c)
{
    (void)k;
    return c == '\n' ? CHECK_SIZE : -1;
}

static int take_last(struct front_check *k, unsigned char c)
{
    (void)k;
    return c == '\r' ? CHECK_LAST_LF : -1;
}

static int take_last_lf(struct front_check *k, unsigned char c)
{
    (void)k;
    return c == '\n' ? CHECK_BEGIN : -1;
}

static take_byte *const takers[] = {
    [CHECK_BEGIN] = take_begin,       [CHECK_BEGIN_LF] = take_begin_lf,
    [CHECK_METHOD] = take_method,     [CHECK_TARGET] = take_target,
    [CHECK_VERSION] = take_version,   [CHECK_LINE_LF] = take_line_lf,
    [CHECK_FIELD] = take_field,       [CHECK_NAME] = take_name,
    [CHECK_VALUE] = take_value,       [CHECK_VALUE_LF] = take_value_lf,
    [CHECK_HEAD_LF] = take_head_lf,   [CHECK_SIZE] = take_size,
    [CHECK_SIZE_LF] = take_size_lf,   [CHECK_CHUNK_CR] = take_chunk_cr,
    [CHECK_CHUNK_LF] = take_chunk_lf, [CHECK_LAST] = take_last,
    [CHECK_LAST_LF] = take_last_lf,
};

/* Bytes that are not looked at; how many of them are here. */
static size_t skip_body(struct front_check *k, size_t len)
{
    size_t n = k->left < len ? (size_t)k->left : len;

    k->left -= n;
    if (!k->left)
        k->state = k->state == CHECK_BODY ? CHECK_BEGIN : CHECK_CHUNK_CR;
    return n;
}

static bool take(struct front_check *k, unsigned char c)
{
    int next = takers[k->state](k, c);

    if (k->state <= CHECK_HEAD_LF && ++k->cost > FRONT_CHECK_HEAD_MAX)
        k->status = TOO_LARGE;
    if (next < 0)
        k->status = BAD_REQUEST;
    if (!k->status)
        k->state = (enum front_check_state)next;
    return !k->status;
}

size_t front_check_feed(struct front_check *check, const char *data, size_t len)
{
    size_t at = 0, whole = 0;

    while (at < len && !check->status) {
        if (check->state == CHECK_PASS)
            return len;
        if (check->state == CHECK_BODY || check->state == CHECK_CHUNK)
            at += skip_body(check, len - at);
        else if (!take(check, (unsigned char)data[at++]))
            return whole;
        if (check->state == CHECK_BEGIN)
            whole = at;
    }
    return check->status ? 0 : len;
}
