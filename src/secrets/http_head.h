/* Heads of HTTP/1.1 requests and replies.  Pure.
 *
 * Strict where two readers could disagree about where a message ends: a line that ends in a bare
 * LF, a folded line, a blank before a colon, two lengths, a length beside an encoding. */
#ifndef SECRETS_HTTP_HEAD_H
#define SECRETS_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_MAX_HEAD (64 << 10)
#define HTTP_MAX_LINES 128

enum http_body { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_CLOSE };

struct http_text {
    char *at; /* in the head; not NUL-terminated */
    size_t len;
};

struct http_line {
    struct http_text name, value;
};

struct http_head {
    struct http_text first;          /* the first line, without its CRLF */
    struct http_text method, target; /* of a request */
    unsigned int status;             /* of a reply */
    enum http_body body;             /* of a reply: unless http_reply_has_none() */
    uint64_t length;
    struct http_text host; /* of a request; at NULL: none */
    struct http_line lines[HTTP_MAX_LINES];
    size_t n_lines;
};

/* The length of the head with its empty line; 0: it is not whole yet. */
size_t http_head_length(const char *data, size_t len);
/* `data` is a whole head.  False: it is none, or not a clear one. */
bool http_request_parse(char *data, size_t len, struct http_head *ret);
bool http_reply_parse(char *data, size_t len, struct http_head *ret);

bool http_text_is(const struct http_text *text, const char *word);       /* whatever the case */
bool http_text_begins(const struct http_text *text, const char *prefix); /* the same */

#endif
