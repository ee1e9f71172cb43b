/* Netlink messages that set up a network namespace.  They are always the same, so the build
 * generates them (src/generate/generate_netlink.c) and this file only sends them. */
#ifndef CONFINE_NETLINK_H
#define CONFINE_NETLINK_H

#include <stddef.h>

#include "plan/plan.h"
#include "wire/egress.h"

enum netlink_script {
    NETLINK_LO_UP,    /* loopback                                                           */
    NETLINK_ROUTES4,  /* an address of its own; every other address leads here too          */
    NETLINK_ROUTES6,  /* the same for IPv6                                                  */
    NETLINK_TPROXY,   /* nftables: everything that leaves goes to the transparent listeners */
    NETLINK_REDIRECT, /* nftables: only TCP, by rewriting its destination                   */
    N_NETLINK_SCRIPTS
};

struct netlink_messages {
    int family;        /* NETLINK_*                                                        */
    unsigned int last; /* sequence number of the last message that the kernel acknowledges */
    const unsigned char *data;
    size_t len;
};

/* Generated. */
extern const struct netlink_messages netlink_scripts[N_NETLINK_SCRIPTS];

/* 0, or -1 with the errno of the first message that the kernel refused. */
int netlink_send(enum netlink_script script);

struct network_sockets {
    const struct plan *plan;
    enum egress_way way;
    bool v6;
};

/* Makes the sockets in the caller's network namespace and sends them; 0 or -1 with errno. */
int network_send_sockets(int link_fd, const struct network_sockets *wanted);
/* The same with unconnected ones for sandbox-run-publish. */
int network_send_unconnected(int link_fd);

#endif
