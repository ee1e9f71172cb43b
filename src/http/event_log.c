#include "http/execution.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16
#define LONG_LINE ((size_t)256 << 10)

void event_log_init(struct event_log *log, size_t max)
{
    *log = (struct event_log){ .max = max };
}

static void drop_line(struct event_log_line *line)
{
    free(line->text);
    response_text_drop(line->result);
}

void event_log_done(struct event_log *log)
{
    for (size_t i = 0; i < log->n; i++)
        drop_line(&log->lines[(log->at + i) % log->capacity]);
    free(log->lines);
    *log = (struct event_log){ .max = log->max };
}

static int grow(struct event_log *log)
{
    size_t capacity = log->capacity ? log->capacity * 2 : FIRST_CAPACITY;
    struct event_log_line *lines = malloc(capacity * sizeof(*lines));

    if (!lines)
        return -1;
    for (size_t i = 0; i < log->n; i++)
        lines[i] = log->lines[(log->at + i) % log->capacity];
    free(log->lines);
    log->lines = lines;
    log->capacity = capacity;
    log->at = 0;
    return 0;
}

static void drop_oldest(struct event_log *log)
{
    struct event_log_line *line = &log->lines[log->at];

    log->bytes -= line->len;
    drop_line(line);
    log->at = (log->at + 1) % log->capacity;
    log->n--;
    log->first++;
}

/* Takes the line over. */
static int take_line(struct event_log *log, char *text, size_t len)
{
    if (!text || (log->n == log->capacity && grow(log) < 0)) {
        free(text);
        return -1;
    }
    log->lines[(log->at + log->n++) % log->capacity] =
        (struct event_log_line){ .text = text, .len = len, .before = log->added };
    log->bytes += len;
    log->added += len;
    while (log->bytes > log->max && log->n > 1)
        drop_oldest(log);
    return 0;
}

/* The result of a cell may have as many bytes as the cell wrote. */
static bool is_one_long_line(const struct buf *text)
{
    return text->len >= LONG_LINE &&
           memchr(text->data, '\n', text->len) == text->data + text->len - 1;
}

int event_log_add(struct event_log *log, struct buf *text)
{
    const char *at = text->data, *end = text->data + text->len;

    if (!text->failed && is_one_long_line(text)) {
        text->data[text->len - 1] = '\0';
        size_t len = text->len - 1;

        return take_line(log, buf_take(text, NULL), len);
    }
    while (at && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);

        if (take_line(log, strndup(at, len), len) < 0)
            return -1;
        at += len + 1;
    }
    return text->failed ? -1 : 0;
}

int event_log_add_end(struct event_log *log, struct buf *text, struct response_text *result)
{
    if (!result || !text->len || event_log_add(log, text) < 0)
        return -1;
    log->lines[(log->at + log->n - 1) % log->capacity].result = response_text_share(result);
    return 0;
}

const struct event_log_line *event_log_get(const struct event_log *log, uint64_t number)
{
    if (number < log->first || number >= log->first + log->n)
        return NULL;
    return &log->lines[(log->at + (size_t)(number - log->first)) % log->capacity];
}

size_t event_log_unread(const struct event_log *log, uint64_t number)
{
    const struct event_log_line *line = event_log_get(log, number);

    if (number < log->first)
        return log->bytes;
    return line ? (size_t)(log->added - line->before) : 0;
}

uint64_t event_log_next(const struct event_log *log)
{
    return log->first + log->n;
}
