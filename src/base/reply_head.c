#include "base/reply_head.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/err.h"
#include "base/fields.h"

#define CONNECTION "Connection"
#define DATE_SIZE 48

static const struct phrase {
    unsigned int status;
    const char *text;
} phrases[] = {
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 304, "Not Modified" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 411, "Length Required" },
    { 413, "Content Too Large" },
    { 415, "Unsupported Media Type" },
    { 421, "Misdirected Request" },
    { 422, "Unprocessable Content" },
    { 426, "Upgrade Required" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 507, "Insufficient Storage" },
};

static const char *phrase_of(unsigned int status)
{
    for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].text;
    return NULL;
}

bool reply_head_knows(unsigned int status)
{
    return phrase_of(status) != NULL;
}

bool reply_head_has_body(unsigned int status)
{
    return status >= 200 && status != 204 && status != 304;
}

bool reply_head_is_value(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text) && *text != '\t')
            return false;
    return true;
}

/* A token of RFC 9110; with a colon or a blank in it, a name would be another field's beginning. */
static bool is_name(const char *text)
{
    const char *at = text;

    while (isalnum((unsigned char)*at) || (*at && strchr("!#$%&'*+-.^_`|~", *at)))
        at++;
    return at > text && !*at;
}

/* What the head says by itself: a second length would be another reply's beginning. */
static bool is_own(const char *name)
{
    return !strcasecmp(name, CONNECTION) || !strcasecmp(name, "Content-Length") ||
           !strcasecmp(name, "Transfer-Encoding");
}

/* Formatted once per second. */
static const char *date_now(void)
{
    static char text[DATE_SIZE];
    static time_t at;
    time_t now = time(NULL);
    struct tm parts;

    if (now != at && gmtime_r(&now, &parts) &&
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0)
        at = now;
    return text;
}

bool reply_head_closes(const char *fields, size_t len)
{
    const char *end = fields + len;
    struct field field;

    while (fields_next(&fields, end, &field))
        if (!strcasecmp(field.name, CONNECTION) && !strcasecmp(field.value, "close"))
            return true;
    return false;
}

static void add_length(uint64_t length, unsigned int status, struct buf *to)
{
    if (!reply_head_has_body(status))
        return;
    if (length == REPLY_HEAD_CHUNKS)
        buf_add_text(to, "Transfer-Encoding: chunked\r\n");
    else
        buf_printf(to, "Content-Length: %" PRIu64 "\r\n", length);
}

bool reply_head_add(const struct reply_head *head, struct buf *to)
{
    const char *at = head->fields, *end = at + head->fields_len;
    const char *phrase = phrase_of(head->status);
    struct field field;

    if (!phrase)
        return false;
    buf_printf(to, "HTTP/1.1 %u %s\r\nDate: %s\r\n", head->status, phrase, date_now());
    while (fields_next(&at, end, &field)) {
        if (is_own(field.name))
            continue;
        if (!is_name(field.name) || !reply_head_is_value(field.value))
            return false;
        buf_add_text(to, field.name);
        buf_add_text(to, ": ");
        buf_add_text(to, field.value);
        buf_add_text(to, "\r\n");
    }
    if (head->closes || reply_head_closes(head->fields, head->fields_len))
        buf_add_text(to, "Connection: close\r\n");
    add_length(head->length, head->status, to);
    buf_add_text(to, "\r\n");
    return at == end && !to->failed;
}
