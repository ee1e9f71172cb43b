/* Whether requests can be read in one way only, byte by byte, as they come.
 *
 * Every request of every connection passes through here before anything else reads it, also those
 * that libmicrohttpd reads and those under TLS: libmicrohttpd forgets a header that is folded, and
 * takes what follows a bare LF for another line. */
#ifndef FRONT_FRONT_CHECK_H
#define FRONT_FRONT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the lines of a head may take, with what libmicrohttpd needs for each field. */
#define FRONT_CHECK_HEAD_MAX 12288

enum front_check_state {
    CHECK_BEGIN,
    CHECK_BEGIN_LF, /* of an empty line before a request */
    CHECK_METHOD,
    CHECK_TARGET,
    CHECK_VERSION,
    CHECK_LINE_LF,
    CHECK_FIELD, /* its first byte, or the CR of the empty line */
    CHECK_NAME,
    CHECK_VALUE,
    CHECK_VALUE_LF,
    CHECK_HEAD_LF,
    CHECK_BODY,
    CHECK_SIZE, /* of a chunk */
    CHECK_SIZE_LF,
    CHECK_CHUNK,
    CHECK_CHUNK_CR,
    CHECK_CHUNK_LF,
    CHECK_LAST, /* the empty line behind the last chunk: there are no trailers */
    CHECK_LAST_LF,
    CHECK_PASS, /* behind a request for an upgrade */
};

struct front_check {
    enum front_check_state state;
    unsigned int status;  /* 0: all is well; otherwise that of the reply, and nothing is read */
    unsigned int heads;   /* that were read whole */
    size_t cost;          /* of the head so far */
    unsigned int n;       /* bytes of the part that is read now */
    char name[20];        /* of a field, in lower case; longer ones frame nothing */
    char value[20];       /* of a field that frames, in lower case */
    unsigned int value_n; /* bytes of it */
    bool spaced;          /* space behind `value` */
    unsigned int lengths, encodings;
    bool is_old, upgrades; /* HTTP/1.0; it asks for an upgrade */
    uint64_t left;         /* of the body or of the chunk */
};

/* How many of the bytes may be passed on: all, or up to the end of the last request before a
 * fault, which is in `status` then. */
size_t front_check_feed(struct front_check *check, const char *data, size_t len);

#endif
