#include "front/front_parse.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "front/front_check.h"
#include "wire/front.h"

#define END_OF_HEAD "\r\n\r\n"
#define VERSION " HTTP/1.1"
#define LENGTH_DIGITS 9

struct text {
    const char *at;
    size_t len;
};

static bool equals(struct text text, const char *word)
{
    return text.len == strlen(word) && !strncasecmp(text.at, word, text.len);
}

/* The text up to `stop`, which is left out; false: there is no such character. */
static bool cut(struct text *from, char stop, struct text *ret)
{
    const char *end = memchr(from->at, stop, from->len);

    if (!end)
        return false;
    *ret = (struct text){ from->at, (size_t)(end - from->at) };
    from->len -= ret->len + 1;
    from->at = end + 1;
    return true;
}

static void add(struct buf *fields, char kind, struct text name, struct text value)
{
    buf_add(fields, &kind, 1);
    buf_add(fields, name.at, name.len);
    buf_add(fields, "", 1);
    buf_add(fields, value.at, value.len);
    buf_add(fields, "", 1);
}

/* As libmicrohttpd does: a plus is a space, and the rest is decoded by the gateway. */
static void add_parameter(struct buf *fields, char kind, struct text name, struct text value)
{
    size_t begin = fields->len;

    add(fields, kind, name, value);
    for (size_t i = begin; !fields->failed && i < fields->len; i++)
        if (fields->data[i] == '+')
            fields->data[i] = ' ';
}

static bool add_parameters(struct text query, struct buf *fields)
{
    while (query.len) {
        struct text part, name;

        if (!cut(&query, '&', &part)) {
            part = query;
            query.len = 0;
        }
        if (!part.len || part.at[0] == '=')
            return false;
        if (cut(&part, '=', &name))
            add_parameter(fields, FRONT_FIELD_QUERY, name, part);
        else
            add_parameter(fields, FRONT_FIELD_FLAG, part, (struct text){ "", 0 });
    }
    return true;
}

/* Methods whose reply has a body, if it says so. */
static bool is_known(struct text method)
{
    static const char *const known[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (method.len == strlen(known[i]) && !memcmp(method.at, known[i], method.len))
            return true;
    return false;
}

/* The path and the parameters follow the headers, as the gateway finds each by its kind. */
static bool add_line(struct text line, struct buf *fields, struct text *ret_query)
{
    size_t version = strlen(VERSION);
    struct text method, path;

    if (!cut(&line, ' ', &method) || !is_known(method) || line.len <= version ||
        memcmp(line.at + line.len - version, VERSION, version) != 0)
        return false;
    line.len -= version;
    for (size_t i = 0; i < line.len; i++)
        if (!isgraph((unsigned char)line.at[i]) || line.at[i] == '#')
            return false;
    *ret_query = (struct text){ line.at + line.len, 0 };
    if (cut(&line, '?', &path))
        *ret_query = line;
    else
        path = line;
    if (!path.len || path.at[0] != '/')
        return false;
    add(fields, FRONT_FIELD_METHOD, (struct text){ "", 0 }, method);
    add(fields, FRONT_FIELD_PATH, (struct text){ "", 0 }, path);
    return true;
}

static struct text trim(struct text text)
{
    while (text.len && strchr(" \t", text.at[0])) {
        text.at++;
        text.len--;
    }
    while (text.len && strchr(" \t", text.at[text.len - 1]))
        text.len--;
    return text;
}

struct head {
    unsigned int hosts, lengths;
    size_t body_len;
};

static bool read_length(struct text value, struct head *head)
{
    head->body_len = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (!isdigit((unsigned char)value.at[i]))
            return false;
        head->body_len = head->body_len * 10 + (size_t)(value.at[i] - '0');
    }
    return value.len && value.len <= LENGTH_DIGITS && ++head->lengths == 1 &&
           head->body_len <= FRONT_SMALL_BODY;
}

/* Headers that change how the connection goes on are libmicrohttpd's; so are, in builds for tests,
 * those that ask this process to attack. */
static bool is_left_to_library(struct text name, struct text value)
{
    static const char *const names[] = {
        "Transfer-Encoding", "Expect",           "Upgrade",    "TE",
        "Trailer",           "Proxy-Connection", "Keep-Alive",
#ifdef SBR_TEST_HOOKS
        "X-Attack",          "X-Frames",
#endif
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (equals(name, names[i]))
            return true;
    return equals(name, "Connection") && !equals(value, "keep-alive");
}

static bool add_header(struct text line, struct buf *fields, struct head *head)
{
    struct text name;

    if (!cut(&line, ':', &name))
        return false;
    line = trim(line);
    if (is_left_to_library(name, line))
        return false;
    head->hosts += equals(name, "Host");
    if (equals(name, "Content-Length") && !read_length(line, head))
        return false;
    add(fields, FRONT_FIELD_HEADER, name, line);
    return true;
}

/* All lines of the head, each without its CR LF. */
static bool add_all(struct text all, struct buf *fields, struct head *head)
{
    struct text line, query;

    if (!cut(&all, '\n', &line) || !line.len)
        return false;
    line.len--;
    if (!add_line(line, fields, &query))
        return false;
    while (cut(&all, '\n', &line)) {
        if (line.len == 1) /* the empty line */
            break;
        line.len--;
        if (!add_header(line, fields, head))
            return false;
    }
    return head->hosts == 1 && add_parameters(query, fields) && !fields->failed;
}

enum front_parsed front_parse(const char *data, size_t len, struct buf *fields, size_t *head_len,
                              size_t *body_len)
{
    const char *end = memmem(data, len, END_OF_HEAD, strlen(END_OF_HEAD));
    size_t n = end ? (size_t)(end - data) + strlen(END_OF_HEAD) : len;
    struct front_check check = { 0 };
    struct head head = { 0 };

    (void)front_check_feed(&check, data, n);
    if (check.status)
        return FRONT_PARSED_BAD;
    if (!end)
        return FRONT_PARSED_MORE;
    if (!add_all((struct text){ data, n }, fields, &head))
        return FRONT_PARSED_ODD;
    *head_len = n;
    *body_len = head.body_len;
    return len - n < head.body_len ? FRONT_PARSED_MORE : FRONT_PARSED_WHOLE;
}
