/* The gateway's process: its sockets, its loop, and what all requests share. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "base/list.h"
#include "base/loop.h"
#include "config/config.h"
#include "http/counters.h"
#include "http/holdings.h"
#include "http/roots.h"
#include "http/spans.h"
#include "http/visitor.h"
#include "sandbox/peer.h"
#include "wire/front.h"

enum { SERVER_AT_UNIX, SERVER_AT_TCP, SERVER_SOCKETS };
#define SERVER_MAX_NAMES 16
#define SERVER_MAX_DIALECTS 8

struct catalog;
struct dialect;
struct exchange;
struct joblog;
struct token_cache;

struct server_options {
    const char *socket;                          /* path of the unix socket; NULL: none */
    const char *address;                         /* of TCP, ADDRESS:PORT; NULL: none */
    const char *certificate, *key;               /* files of TLS; NULL: none */
    const char *hosts[SERVER_MAX_NAMES + 1];     /* further values of `Host` */
    const char *origins[SERVER_MAX_NAMES + 1];   /* values of `Origin` that are allowed */
    const char *callbacks[SERVER_MAX_NAMES + 1]; /* hosts that a dialect may send results to */
    const struct dialect *dialects[SERVER_MAX_DIALECTS + 1];
    size_t max_body;
    unsigned int connections;             /* at once, of each listener */
    unsigned int connections_per_address; /* of TCP; 0: half of them */
    unsigned int running;                 /* runs at once, without an engine */
    int ready_fd;                         /* gets a byte when it serves; -1: none */
};

/* A listener and the front that reads its connections. */
struct server_socket {
    struct server *server;
    unsigned int which;
    struct loop_watch listener; /* fd -1: not used */
    struct loop_watch link;     /* to the front */
    int config;                 /* what the front starts with */
    pid_t pid;                  /* 0: it does not run */
    pid_t ended;                /* was killed, and its end is still to be taken; 0: none */
    unsigned int visitors;
    struct link strangers;   /* those of TCP that have shown no token, longest idle first */
    unsigned int unanswered; /* ticks since it was asked whether it lives; 0: it has answered */
    bool starved;            /* no descriptor is left: nothing is accepted until the next tick */
    bool full;               /* the link takes nothing now: nothing is accepted until it does  */
};

/* All executions, and how many there may be until the next look at them. */
struct server_kept {
    size_t n, bytes;
    size_t most_n, most_bytes;
};

struct server {
    struct server_options options;
    struct loop loop;
    struct server_socket sockets[SERVER_SOCKETS];
    struct peer_home home;
    struct config config;
    struct roots roots;
    struct spans spans;
    struct holdings holdings;
    sbr_runtime *rt;
    void (*take_request)(struct exchange *x); /* it is whole, and nobody has replied */
    struct link visitors, closed;             /* connections; those that are freed after the turn */
    struct link waiting, ready;   /* exchanges whose reply comes later; that have some to send */
    struct link executions, live; /* newest last; those of them that are not over */
    struct server_kept kept;      /* all of them, in numbers */
    struct link spent;            /* executions whose jobs are to be freed */
    struct link agents;           /* clients of /mcp */
    struct link sse_streams;      /* their streams */
    struct link batches;          /* of executions that go on without their client */
    struct link restored;         /* executions that wait to be begun again; http/restoration.c */
    struct joblog *joblog;        /* NULL: it could not be opened */
    struct token_cache *tokens;
    struct counters counters;
    struct refusals refusals;
    struct loop_watch signals;
    struct server_offload {
        struct loop_watch watch;
        int done[2];          /* a pipe from the threads */
        unsigned int working; /* threads */
        struct link at_work;  /* what they do */
    } offload;
    struct link sandboxes;   /* of E2B */
    struct link submissions; /* of Judge0 */
    struct link unbegun;     /* sockets of Piston that have not said what to run */
    struct link stored;      /* files of go-judge's store */
    struct catalog *catalog; /* of Piston and Judge0; NULL: it was not read yet */
    struct link bodies;      /* that wait for a thread that reads them; http/body.c */
    unsigned int readers;    /* of those threads */
    uint64_t restored_us;    /* when the last look at `restored` was */
    bool has_socket;         /* the unix socket is ours to remove */
    bool ending;
    pid_t parent;                                           /* that started it */
    unsigned long moment;                                   /* at which a test ends the gateway */
    char frame[FRONT_FRAME_MAX];                            /* that is read from a front */
    char part[FRONT_FRAME_MAX - sizeof(struct front_head)]; /* of a body that is sent */
    uint64_t started_us, ticked_us, end_us;
};

/* Serves until a signal ends it. */
int server_run(const struct server_options *options, sbr_error *err) must_check;

#endif
