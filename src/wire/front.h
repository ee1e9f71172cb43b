/* What the gateway and its fronts send to each other.
 *
 * A front is the process that reads what clients send: TLS, HTTP and WebSockets.  The gateway
 * accepts a connection and passes it to the front of that listener, with one end of a channel:
 *
 *   gateway --config (sealed memory), link (socket)--> front
 *   gateway --link: a client's connection, its channel--> front
 *   front <==channel: frames of one connection, one request after the other==> gateway
 *
 * A channel is a socket that keeps the bounds of messages: a frame is one message, never part of
 * one, and the kernel bounds what waits in it.  Closing it means that the connection is over.
 *
 *   request without a body, or with a small one:   REQUEST (whole)                 --> REPLY
 *   request with a body:   REQUEST --> ADMIT; BODY..., END                         --> REPLY
 *                          REQUEST                                                 --> REPLY
 *   reply:                 REPLY (whole) | REPLY, DATA... up to its length or DONE
 *   request (direct):      REQUEST (whole)...  --> a small reply to the client itself, and REST if
 *                          it did not fit; or as above
 *                          TURN, when the front is done with such requests         --> ADMIT
 *   after an upgrade:      MESSAGE (more)..., MESSAGE in both directions; CLOSE to the front */
#ifndef WIRE_FRONT_H
#define WIRE_FRONT_H

#include <stddef.h>
#include <stdint.h>

#define FRONT_NAME "sandbox-run-front"
#define FRONT_FRAME_MAX 32768 /* with its head */
#define FRONT_SMALL_BODY 4096 /* goes with its request; a larger one waits to be admitted */
#define FRONT_MESSAGE_MAX ((size_t)1 << 20)
#define FRONT_LENGTH_UNKNOWN UINT64_MAX
/* The user of a front where the gateway is root: nothing else is this user. */
#define FRONT_FIXED_ID 61183

/* File descriptors that a front finds open, besides stderr. */
enum front_fd { FRONT_LINK = 3, FRONT_CONFIG = 4 };

enum front_frame_type {
    FRONT_REQUEST = 1, /* fields: method, path, headers and parameters; and a small body */
    FRONT_BODY,
    FRONT_END,
    FRONT_ADMIT, /* the body may come; what comes behind TURN may come */
    FRONT_REPLY, /* fields: headers; and the beginning of the body */
    FRONT_DATA,
    FRONT_DONE,
    FRONT_MESSAGE, /* of a WebSocket */
    FRONT_CLOSE,   /* of a WebSocket: `status` is the code, the rest the reason */
    FRONT_TURN,    /* no request that follows is direct; ADMIT comes behind all replies */
    FRONT_REST,    /* of a direct reply: what the connection did not take, for the front to write */
};

enum front_flag {
    FRONT_WHOLE = 1,   /* nothing follows */
    FRONT_MORE = 2,    /* the message goes on in the next frame */
    FRONT_BINARY = 4,  /* a message of bytes, not of text */
    FRONT_UPGRADE = 8, /* the connection becomes a WebSocket */
    /* The gateway may write the reply to the connection, and finds the next request behind this
     * one: the front does not wait for replies. */
    FRONT_DIRECT = 16,
};

struct front_head {
    uint8_t type, flags;
    uint16_t status;
    uint32_t fields_len;
    uint64_t length; /* of the reply's body */
};

/* A field is its kind, its name and its value, each of the last two with a NUL. */
enum front_field_kind {
    FRONT_FIELD_HEADER = 'h',
    FRONT_FIELD_QUERY = 'q',  /* name=value behind the '?' */
    FRONT_FIELD_FLAG = 'f',   /* name alone behind the '?' */
    FRONT_FIELD_METHOD = 'm', /* without a name, as the next */
    FRONT_FIELD_PATH = 'p',
};

#endif
