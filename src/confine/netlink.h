/* Messages to the kernel that set a network namespace up.  They are always the same, so they were written when the
 * project was built (src/generate/generate_netlink.c); here they are only sent. */
#ifndef CONFINE_NETLINK_H
#define CONFINE_NETLINK_H

#include <stddef.h>

enum netlink_script {
    NETLINK_LO_UP,    /* loopback                                                              */
    NETLINK_ROUTES4,  /* an address of its own, and every other one leads here as well          */
    NETLINK_ROUTES6,  /* the same for IPv6                                                     */
    NETLINK_TPROXY,   /* nftables: whatever leaves goes to the transparent listeners            */
    NETLINK_REDIRECT, /* nftables: TCP alone, by rewriting its destination                     */
    N_NETLINK_SCRIPTS
};

struct netlink_messages {
    int family;        /* NETLINK_* */
    unsigned int last; /* number of the last message that the kernel answers */
    const unsigned char *data;
    size_t len;
};

/* Generated. */
extern const struct netlink_messages netlink_scripts[N_NETLINK_SCRIPTS];

/* 0, or -1 with the errno of the first message that the kernel refused. */
int netlink_send(enum netlink_script script);

#endif
