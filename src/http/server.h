/* The gateway's process: its sockets, its loop, and what all requests share. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "base/list.h"
#include "base/loop.h"
#include "config/config.h"
#include "http/admission.h"
#include "http/counters.h"
#include "http/refusals.h"
#include "http/roots.h"
#include "http/spans.h"
#include "http/visitor.h"
#include "sandbox/peer.h"

enum { SERVER_AT_UNIX, SERVER_AT_TCP, SERVER_SOCKETS };
#define SERVER_MAX_NAMES 16
#define SERVER_MAX_DIALECTS 8

struct dialect;

struct server_options {
    const char *socket;                          /* path of the unix socket; NULL: none */
    const char *address;                         /* of TCP, ADDRESS:PORT; NULL: none */
    const char *certificate, *key;               /* files of TLS; NULL: none */
    const char *hosts[SERVER_MAX_NAMES + 1];     /* further values of `Host` */
    const char *origins[SERVER_MAX_NAMES + 1];   /* values of `Origin` that are allowed */
    const char *callbacks[SERVER_MAX_NAMES + 1]; /* hosts that a dialect may send results to */
    const struct dialect *dialects[SERVER_MAX_DIALECTS + 1];
    size_t max_body;
    unsigned int connections; /* at once */
    unsigned int running;     /* runs at once, without an engine */
    int ready_fd;             /* closed when it serves; -1: none */
};

/* A listener and the front that reads its connections. */
struct server_socket {
    struct server *server;
    unsigned int which;
    struct loop_watch listener; /* fd -1: not used */
    struct loop_watch link;     /* to the front */
    int config;                 /* what the front starts with */
    pid_t pid;                  /* 0: it does not run */
    unsigned int visitors;
    bool starved; /* no descriptor is left: nothing is accepted until the next tick */
    bool full;    /* the link takes nothing now: nothing is accepted until it does  */
};

struct server {
    struct server_options options;
    struct loop loop;
    struct server_socket sockets[SERVER_SOCKETS];
    struct peer_home home;
    struct config config;
    struct roots roots;
    struct spans spans;
    uint64_t memory; /* that runs and sessions may use together where no engine has a say */
    struct admission_sessions sessions;
    sbr_runtime *rt;
    struct link visitors, closed; /* connections; those that are freed after the turn */
    struct link waiting, ready;   /* exchanges whose reply comes later; that have some to send */
    struct link executions, live; /* newest last; those of them that are not over */
    struct link spent;            /* executions whose jobs are to be freed */
    struct link agents;           /* clients of /mcp */
    struct link sse_streams;      /* their streams */
    size_t kept_bytes;            /* of results and events of all executions */
    struct counters counters;
    struct refusals refusals;
    struct loop_watch signals;
    struct loop_watch offload;
    bool has_socket; /* the unix socket is ours to remove */
    bool ending;
    uint64_t started_us, ticked_us, end_us;
};

/* Serves until a signal ends it. */
int server_run(const struct server_options *options, sbr_error *err) must_check;

#endif
