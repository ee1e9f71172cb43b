/* sandbox-run-publish: the state that all its parts share. */
#ifndef PUBLISH_PUBLISH_INTERNAL_H
#define PUBLISH_PUBLISH_INTERNAL_H

#include "base/list.h"
#include "base/loop.h"
#include "base/pace.h"
#include "base/pump.h"
#include "publish/inside_sockets.h"
#include "wire/publishing.h"

struct publish_listener {
    struct loop_watch watch;
    struct publisher *publisher;
    uint32_t rule;
    uint16_t inside; /* the port there */
};

struct publisher {
    struct publish_listener listeners[PUBLISH_LISTENERS];
    size_t n_listeners;
    struct pump_meter in[PUBLISH_MAX], out[PUBLISH_MAX]; /* of each rule */
    struct publish_page *page;
    struct inside_sockets sockets;
    struct loop events;
    struct link carries;
    struct pace pace;    /* inactive unless the program has a share         */
    uint64_t looked_us;  /* when the CPU time was read last                 */
    uint64_t started_us; /* CPU time when the sockets came                  */
    bool resting;        /* the listeners pause: every socket inside is used */
    bool starved;        /* out of fds or memory: the same, for a while      */
    bool ending;         /* the program has ended                            */
};

#endif
