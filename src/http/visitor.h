/* A connection of a client, as the gateway sees it: a channel to the front that reads it. */
#ifndef HTTP_VISITOR_H
#define HTTP_VISITOR_H

#include "admit/grant.h"
#include "base/frames.h"
#include "base/list.h"
#include "base/loop.h"
#include "http/life.h"

struct exchange;
struct front_head;
struct server;
struct visitor;

/* What uses a connection after its upgrade. */
struct visitor_user {
    void (*opened)(void *context, struct visitor *v);
    /* A frame came; false: the connection is to end. */
    bool (*take)(void *context, const struct front_head *head, const char *data, size_t len);
    void (*turn)(void *context);   /* the channel takes more */
    void (*refuse)(void *context); /* the token holds no more: nothing else is taken, and it ends */
    void (*closed)(void *context); /* the connection is over */
};

/* Of IPv6 the network. */
struct visitor_peer {
    unsigned char bytes[8];
};

struct visitor {
    struct link link;     /* of the server's visitors, or of those that are freed after the turn */
    struct link stranger; /* of its listener's; in no list: at the unix socket, or it had a token */
    struct visitor_peer peer;
    struct server *server;
    enum life_state life; /* changed by life_take alone */
    unsigned int socket;  /* the listener that it came from */
    bool tcp;             /* known from the listener: no front has a say in it */
    struct frames channel;
    struct loop_watch watch;
    int client;         /* the connection itself, which is written only; -1: by TLS */
    bool direct;        /* the front does not wait for replies: requests follow each other */
    bool through_front; /* a reply went through the front: those behind it do, too */
    uint64_t idle_us;   /* since when no request is on its way, if `direct` */
    bool half;          /* the client sends no more; what it has sent is still answered */
    bool ending;        /* nothing more is read; the reply is the last */
    bool has_more;      /* of its reply: others have their turn before the next frames */
    bool last;          /* the same, and the front ends the connection */
    bool refused;       /* the body was too large: what else comes of it is dropped */
    struct exchange *x; /* the request that is on its way; NULL: none */
    bool unwelcome;     /* its token holds no more, and it was told so */
    char token_id[GRANT_TOKEN_SIZE]; /* that the upgrade was asked with; empty: none */
    const struct visitor_user *user; /* NULL: it was not upgraded */
    void *user_context;
};

/* `channel` becomes the visitor's.  NULL without memory: it is closed.  `client` is the connection,
 * of which the visitor has a copy; -1: nothing is written to it from here. */
struct visitor *visitor_new(struct server *server, unsigned int socket, int channel, int client,
                            const struct visitor_peer *peer);
/* The connection is over.  The memory stays until visitor_run. */
void visitor_close(struct visitor *v);
/* Reads the channel, or not, until the next call. */
void visitor_listen(struct visitor *v, bool reads);
/* Ends what clients have open by a token that was revoked or has expired, and what is idle. */
void visitor_tick(struct server *server);
/* After each turn of the loop: sends replies that are ready, frees visitors that are over. */
void visitor_run(struct server *server);

#endif
