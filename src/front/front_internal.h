/* The front: the process that reads what clients of the gateway send.
 *
 * front_plain.c reads requests that come whole and without TLS, and front_parse.c knows which of
 * them.  For all others front_request.c turns what libmicrohttpd has read into frames,
 * front_reply.c turns frames into what it sends, and front_socket.c does both for WebSockets.  No
 * file here knows what a request means. */
#ifndef FRONT_FRONT_INTERNAL_H
#define FRONT_FRONT_INTERNAL_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/frames.h"
#include "base/list.h"
#include "base/loop.h"
#include "front/front_check.h"
#include "wire/front.h"

/* Line and headers of a request fit, whatever they are: front_check.c bounds them. */
#define FRONT_CONNECTION_MEMORY (2 * FRONT_CHECK_HEAD_MAX)

struct front_client;
struct front_socket;

struct front {
    struct loop loop;
    struct MHD_Daemon *daemon;
    struct loop_watch library, link;
    struct link clients;
    unsigned int in_library; /* connections that libmicrohttpd has */
    bool tls;
    /* From now on the connection is libmicrohttpd's, which may have ended it already. */
    void (*library_take)(struct front_client *c);
    bool ending;
    uint64_t ticked_us, end_us;
};

enum front_stage {
    STAGE_IDLE,    /* no request, or one whose headers are not there yet                  */
    STAGE_ASKED,   /* the gateway says whether the body may come                          */
    STAGE_BODY,    /* the body comes                                                      */
    STAGE_WAITING, /* for the reply                                                       */
    STAGE_REPLY,   /* the reply was given to libmicrohttpd                                */
    STAGE_SOCKET,  /* a WebSocket                                                         */
    STAGE_DRAIN,   /* the reply is sent: what else comes of the body is dropped             */
    STAGE_OVER     /* nothing more is read from the channel: the connection is to be closed */
};

/* A connection, which serves one request after another. */
struct front_client {
    struct link link;
    struct front *front;
    struct MHD_Connection *connection;
    int fd; /* of the connection; libmicrohttpd's */
    struct frames channel;
    struct loop_watch watch; /* of the channel */
    struct loop_watch gone;  /* of `fd`, for while libmicrohttpd does not look at it */
    enum front_stage stage;
    bool plain;     /* libmicrohttpd does not have the connection; `gone` watches it */
    bool forwarded; /* plain: a request went to the gateway; its reply may not be out yet */
    bool half;      /* plain: the client sends no more */
    bool closes;    /* plain: after the reply that is on its way */
    bool paused;    /* libmicrohttpd does not look at the connection */
    bool gathers;   /* a small body goes into `request` */
    bool unread;    /* nothing of a body that is dropped has come yet */
    struct front_check check;
    unsigned int heads;  /* of `check`, that were taken */
    struct buf request;  /* a frame in the making */
    uint32_t fields_len; /* of `request` */
    struct MHD_Response *response;
    unsigned int status;
    struct buf rest;     /* of a frame: what libmicrohttpd has not taken */
    size_t taken;        /* of `rest` */
    uint64_t to_come;    /* bytes of the reply; FRONT_LENGTH_UNKNOWN: up to FRONT_DONE */
    uint64_t overdue_us; /* when it is closed, unless a reply is on its way */
    void (*woken)(struct front_client *c);    /* what it waits for may be in the channel */
    void (*answered)(struct front_client *c); /* a reply is there before the body is whole */
    void (*plain_event)(struct front_client *c, uint32_t events); /* of the channel, if `plain` */
    void (*plain_close)(struct front_client *c);                  /* and frees `c` */
    struct front_socket *socket;
    void (*release)(struct front_client *c); /* frees `socket`; NULL: there is none */
};

/* front_client.c */
struct front_client *front_client_new(struct front *front, int channel);
void front_client_free(struct front_client *c);
/* The connection is not looked at until front_client_go_on; for `events` of the channel `woken` is
 * called. */
void front_client_pause(struct front_client *c, uint32_t events,
                        void (*woken)(struct front_client *c));
void front_client_go_on(struct front_client *c);
/* Closes both sides: the gateway and the client learn that the connection is over. */
void front_client_give_up(struct front_client *c);
void front_client_tick(struct front *front, uint64_t now_us);
/* The next frame into `frame`: its length, 0: none yet, -1: there will be none. */
ssize_t front_client_receive(const struct front_client *c, char frame[FRONT_FRAME_MAX],
                             struct front_head *ret);

/* front_plain.c.  False: the connection cannot be watched. */
bool front_plain_open(struct front_client *c);
/* Closes the connection; `c` is freed. */
void front_plain_close(struct front_client *c);

/* front_read.c: what libmicrohttpd reads from the client goes through `check`.  False: memory ran
 * out. */
bool front_read_watch(struct front_client *c);
void front_read_forget(const struct front_client *c);
/* Replies to what `check` has refused, behind all other replies. */
void front_read_refuse(struct front_client *c);

/* front_request.c: callbacks of libmicrohttpd. */
enum MHD_Result front_request_handle(void *context, struct MHD_Connection *connection,
                                     const char *path, const char *method, const char *version,
                                     const char *data, size_t *len, void **state);
void front_request_completed(void *context, struct MHD_Connection *connection, void **state,
                             enum MHD_RequestTerminationCode code);
struct front_client *front_request_client(struct MHD_Connection *connection);

/* front_reply.c: takes a frame for a client that waits for one. */
void front_reply_take(struct front_client *c);

/* front_early.c: the reply to a request whose body has not come whole.  libmicrohttpd would close
 * the connection with bytes that nothing has read, and the kernel would send a reset, which makes
 * clients lose the reply: it is sent here, and the rest of the body is read and dropped for a
 * while. */
bool front_early_applies(const struct front_client *c);
/* False: the connection is to end. */
bool front_early_send(struct front_client *c, const struct front_head *head, const char *data,
                      size_t len);
/* For libmicrohttpd, which brings what came of the body. */
enum MHD_Result front_early_drop(struct front_client *c, size_t *len);

/* front_socket.c */
struct MHD_Response *front_socket_response(struct front_client *c);

#ifdef SBR_TEST_HOOKS
/* front_attack.c: what an attacker who has taken this process over would try; NULL: no attack. */
struct MHD_Response *front_attack_try(const struct front_client *c);
#endif

/* How a front confines itself before it reads a byte of a client. */

/* Becomes another user (0: stays), gives up all files, the network and all system calls but those
 * of policies/front.yaml, for ever. */
int front_confine(uint32_t uid, const void *filter, size_t size, sbr_error *err) must_check;

#endif
