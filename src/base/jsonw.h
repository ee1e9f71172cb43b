/* A small JSON writer. jansson reads JSON: parsers of untrusted bytes are not hand-made here, and
 * the run path does without one.  Numbers are written from integers, so that the locale of a
 * program that uses the library cannot put a comma into them. */
#ifndef BASE_JSONW_H
#define BASE_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "base/err.h"

/* A long string of which the text has only a name: the mark and its number.  Its bytes stay with
 * whoever has them, who puts them in the place of the name as the text is sent. */
struct jsonw_long {
    const char *data;
    size_t len;
    bool base64; /* it is written so; otherwise escaped */
};

#define JSONW_LONG_MAX 256
#define JSONW_MARK_DIGITS 3
#define JSONW_LONG_MIN ((size_t)64 << 10) /* shorter ones stand in the text */

struct jsonw_apart {
    char mark[ENCODING_ID_SIZE]; /* random, so that no text of a program can be taken for it */
    size_t n;
    struct jsonw_long at[JSONW_LONG_MAX];
};

#define JSONW_NAME_SIZE (ENCODING_ID_SIZE + JSONW_MARK_DIGITS)

/* Writes the name that stands for the string.  False: it is short, or there is no room, so it is to
 * stand in the text. */
bool jsonw_take_apart(struct jsonw_apart *apart, const struct jsonw_long *text,
                      char name[JSONW_NAME_SIZE]);

/* Takes a part of the text. */
typedef void jsonw_sink(void *context, const char *text, size_t len);

struct jsonw {
    struct buf out;
    jsonw_sink *sink; /* NULL: all of the text stays in `out` */
    void *context;
    struct jsonw_apart *apart; /* NULL: long strings stand in the text */
    size_t given;              /* bytes that the sink has */
    bool pretty;
    bool first; /* nothing was written yet in the innermost object or array */
    unsigned int depth;
};

void jsonw_init(struct jsonw *j, bool pretty);
/* The finished text, which the caller frees; NULL without memory. */
char *jsonw_take(struct jsonw *j);
/* The text goes to `sink` in parts, so that gigabytes of it need no memory of their own. */
void jsonw_init_sink(struct jsonw *j, bool pretty, jsonw_sink *sink, void *context);
/* Gives the sink the last part and frees the writer; -1 without memory, when parts are missing. */
int jsonw_end_sink(struct jsonw *j) must_check;

/* Of all of the text so far. */
size_t jsonw_len(const struct jsonw *j);

/* `key` is NULL inside an array and at the top.  Text is valid UTF-8; NULL is written as null. */
void jsonw_open(struct jsonw *j, const char *key, char bracket);
void jsonw_close(struct jsonw *j, char bracket);
void jsonw_text(struct jsonw *j, const char *key, const char *text);
void jsonw_bytes(struct jsonw *j, const char *key, const char *text, size_t len);
/* A string that may be long; `base64`: any bytes, which are written so. */
void jsonw_long(struct jsonw *j, const char *key, const char *data, size_t len, bool base64);
void jsonw_number(struct jsonw *j, const char *key, uint64_t value);
/* value / 10^decimals, as short as it can be: (1500, 3) is 1.5 */
void jsonw_fixed(struct jsonw *j, const char *key, uint64_t value, unsigned int decimals);
void jsonw_bool(struct jsonw *j, const char *key, bool value);
void jsonw_null(struct jsonw *j, const char *key);
/* The name of a file, which may be any bytes: what is no UTF-8 becomes U+FFFD, and the whole
 * follows as KEY_base64. */
void jsonw_path(struct jsonw *j, const char *key, const char *path);
/* Writes a text as it stands inside the quotes; `out` has room for six times the text.  Returns the
 * end. */
char *jsonw_escape(char *out, const char *text, size_t len);
/* How long a text becomes inside the quotes. */
size_t jsonw_escaped_len(const char *text, size_t len);
/* True: all of it is ASCII, and no character becomes longer than two bytes inside the quotes. */
bool jsonw_is_usual(const char *text, size_t len);
/* An array of strings. */
void jsonw_names(struct jsonw *j, const char *key, const char *const *names, size_t n);

#endif
