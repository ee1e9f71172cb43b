#include "secrets/http_head.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

bool http_text_is(const struct http_text *text, const char *word)
{
    return text->len == strlen(word) && !strncasecmp(text->at, word, text->len);
}

bool http_text_begins(const struct http_text *text, const char *prefix)
{
    return text->len >= strlen(prefix) && !strncasecmp(text->at, prefix, strlen(prefix));
}

size_t http_head_length(const char *data, size_t len)
{
    const char *end = memmem(data, len, "\r\n\r\n", 4);

    return end ? (size_t)(end - data) + 4 : 0;
}

static bool is_token(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Tabs and what is not ASCII may stand in values. */
static bool is_value(const struct http_text *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (((unsigned char)text->at[i] < ' ' && text->at[i] != '\t') || text->at[i] == 0x7f)
            return false;
    return true;
}

static void trim(struct http_text *text)
{
    while (text->len && (text->at[0] == ' ' || text->at[0] == '\t')) {
        text->at++;
        text->len--;
    }
    while (text->len && (text->at[text->len - 1] == ' ' || text->at[text->len - 1] == '\t'))
        text->len--;
}

static bool parse_line(const struct http_text *line, struct http_line *ret)
{
    char *colon = memchr(line->at, ':', line->len);

    if (!colon || colon == line->at)
        return false;
    ret->name = (struct http_text){ line->at, (size_t)(colon - line->at) };
    ret->value = (struct http_text){ colon + 1, line->len - ret->name.len - 1 };
    for (size_t i = 0; i < ret->name.len; i++)
        if (!is_token(ret->name.at[i]))
            return false;
    trim(&ret->value);
    return is_value(&ret->value);
}

/* Takes the next line off; false: it does not end in CRLF. */
static bool next_line(char **at, char *end, struct http_text *ret)
{
    char *lf = memchr(*at, '\n', (size_t)(end - *at));

    if (!lf || lf == *at || lf[-1] != '\r')
        return false;
    *ret = (struct http_text){ *at, (size_t)(lf - *at) - 1 };
    *at = lf + 1;
    return true;
}

static bool parse_length(const struct http_text *value, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < value->len; i++) {
        if (!isdigit((unsigned char)value->at[i]) || *ret > (UINT64_MAX - 9) / 10)
            return false;
        *ret = *ret * 10 + (unsigned int)(value->at[i] - '0');
    }
    return value->len > 0;
}

/* Where the body ends: said once, in one way. */
static bool find_body(struct http_head *head)
{
    bool has_length = false, has_encoding = false;

    for (size_t i = 0; i < head->n_lines; i++) {
        const struct http_line *line = &head->lines[i];

        if (http_text_is(&line->name, "content-length")) {
            if (has_length || !parse_length(&line->value, &head->length))
                return false;
            has_length = true;
        } else if (http_text_is(&line->name, "transfer-encoding")) {
            if (has_encoding || !http_text_is(&line->value, "chunked"))
                return false;
            has_encoding = true;
        } else if (http_text_is(&line->name, "host")) {
            if (head->host.at)
                return false;
            head->host = line->value;
        }
    }
    if (has_length && has_encoding)
        return false;
    if (has_encoding)
        head->body = HTTP_CHUNKED;
    else if (has_length)
        head->body = HTTP_LENGTH;
    return true;
}

static bool parse_lines(char *data, size_t len, struct http_head *ret)
{
    char *at = data, *end = data + len;
    struct http_text line;

    if (!next_line(&at, end, &ret->first) || !is_value(&ret->first))
        return false;
    for (;;) {
        if (!next_line(&at, end, &line))
            return false;
        if (!line.len)
            return at == end;
        if (ret->n_lines == HTTP_MAX_LINES || !parse_line(&line, &ret->lines[ret->n_lines]))
            return false;
        ret->n_lines++;
    }
}

/* METHOD SP TARGET SP HTTP/1.x */
static bool parse_request_line(struct http_head *head)
{
    const struct http_text *first = &head->first;
    char *end = first->at + first->len, *space = memchr(first->at, ' ', first->len), *second;

    if (!space)
        return false;
    second = memchr(space + 1, ' ', (size_t)(end - space - 1));
    if (!second || end - second != 9 ||
        (memcmp(second, " HTTP/1.1", 9) != 0 && memcmp(second, " HTTP/1.0", 9) != 0))
        return false;
    head->method = (struct http_text){ first->at, (size_t)(space - first->at) };
    head->target = (struct http_text){ space + 1, (size_t)(second - space - 1) };
    for (size_t i = 0; i < head->method.len; i++)
        if (!is_token(head->method.at[i]))
            return false;
    return head->method.len && head->target.len;
}

bool http_request_parse(char *data, size_t len, struct http_head *ret)
{
    memset(ret, 0, sizeof(*ret));
    return parse_lines(data, len, ret) && parse_request_line(ret) && find_body(ret) &&
           !http_text_is(&ret->method, "connect");
}

/* HTTP/1.x SP NNN */
bool http_reply_parse(char *data, size_t len, struct http_head *ret)
{
    const struct http_text *first = &ret->first;

    memset(ret, 0, sizeof(*ret));
    ret->body = HTTP_UNTIL_CLOSE;
    if (!parse_lines(data, len, ret) || first->len < 12 || memcmp(first->at, "HTTP/1.", 7) != 0 ||
        !isdigit((unsigned char)first->at[7]) || first->at[8] != ' ' ||
        (first->len > 12 && first->at[12] != ' '))
        return false;
    for (size_t i = 9; i < 12; i++) {
        if (!isdigit((unsigned char)first->at[i]))
            return false;
        ret->status = ret->status * 10 + (unsigned int)(first->at[i] - '0');
    }
    return ret->status >= 100 && find_body(ret);
}
