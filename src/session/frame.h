/* What a session's supervisor and its kernel send to each other, both ways over one stream socket:
 *
 *   WORD NUMBER ARG LENGTH\n<LENGTH bytes>
 *
 * The kernel runs untrusted code, so every byte from it may be wrong.  Pure: bytes in, frame out.
 * docs/internals/session.md has the words. */
#ifndef SESSION_FRAME_H
#define SESSION_FRAME_H

#include <stdint.h>

#include "base/buf.h"

#define FRAME_HEADER_MAX 128 /* with its newline */
#define FRAME_PAYLOAD_MAX ((size_t)16 << 20)
#define FRAME_WORD_SIZE 16
#define FRAME_ARG_SIZE 24

struct frame {
    char word[FRAME_WORD_SIZE]; /* lower case letters */
    char arg[FRAME_ARG_SIZE];   /* lower case letters and digits, or "-" */
    uint64_t number;
    const char *payload; /* borrowed from the bytes that were read */
    size_t len;
};

enum frame_found {
    FRAME_PARTIAL, /* more bytes are needed */
    FRAME_WHOLE,
    FRAME_BAD /* these bytes are no frame, and nothing behind them can be trusted */
};

/* Looks at the beginning of the bytes; *ret_used is the length of a whole frame. */
enum frame_found frame_read(const char *data, size_t len, struct frame *ret, size_t *ret_used);

/* Adds a frame; the caller has checked the length.  0, or -1 without memory. */
int frame_put(struct buf *out, const char *word, uint64_t number, const char *arg,
              const void *payload, size_t len);

#endif
