/* What a program may reach: a mode and a list of rules.  This module only parses and checks;
 * egress/decide.c alone decides by the rules. */
#ifndef MODEL_NETWORK_H
#define MODEL_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/address.h"

enum network_mode {
    NETWORK_NONE,      /* not even loopback */
    NETWORK_LOCALHOST, /* loopback inside */
    NETWORK_ALLOW,     /* and what the rules name */
    NETWORK_FULL,      /* and every public address; rules add others */
    N_NETWORK_MODES
};

/* True when the run has an egress process: the program can reach more than its own sandbox. */
static inline bool network_goes_outside(enum network_mode mode)
{
    return mode == NETWORK_ALLOW || mode == NETWORK_FULL;
}

const char *network_mode_name(enum network_mode mode);
int network_mode_from_name(const char *name, enum network_mode *ret, sbr_error *err) must_check;

enum host_rule_kind {
    HOST_NAME,    /* exactly this name */
    HOST_BELOW,   /* *.name: every name below it, not the name itself */
    HOST_NETWORK, /* an address or a range */
    N_HOST_RULE_KINDS
};

#define HOST_RULE_TEXT 300

struct host_rule {
    enum host_rule_kind kind;
    char name[HOSTNAME_SIZE]; /* canonical, without "*." */
    struct address network;
    uint8_t prefix; /* of 128 bits */
    uint16_t port;  /* 0: every port */
    bool anywhere;  /* the name, set by an operator, may resolve to private addresses, too */
    /* A stranger wrote it: it opens no address of this machine or of its own networks. */
    bool only_public;
    char text[HOST_RULE_TEXT]; /* as the user gave it, for explanations */
};

#define NETWORK_MAX_RULES 256
/* An installer that has fetched everything gives its network back before scripts of packages run:
 * it looks this name up.  The answer, 127.0.0.1, says that it is done. */
#define NETWORK_CLOSE_NAME "close.sandbox-run.internal"

/* NAME[:PORT], *.NAME[:PORT], ADDRESS[:PORT], CIDR[:PORT]; an IPv6 address with a port has
 * brackets: [::1]:80, [fd00::/8]:443.  `localhost` and loopback addresses mean the host's own
 * loopback and need a port. */
int host_rule_parse(const char *text, struct host_rule *ret, sbr_error *err) must_check;
/* True when no bits are set after the prefix and the range has one address family. */
bool network_rule_is_whole(const struct host_rule *rule);
/* True for the host's own loopback: `localhost`, or a loopback address or range. */
bool network_rule_is_loopback(const struct host_rule *rule);

/* True when the rule is for this name, or this one address as text, and the port. */
bool network_rule_is_for(const struct host_rule *rule, const char *name, uint16_t port);

struct network {
    enum network_mode mode;
    bool allow_dns; /* the program may look up names that no rule has */
    bool closes;    /* whoever looks up NETWORK_CLOSE_NAME ends it, for good */
    bool closed;    /* that was done */
    bool asks;      /* a connection that no rule allows waits until a person has decided */
    struct host_rule *rules;
    size_t n_rules;
};

void network_done(struct network *network);
/* Refuses more than NETWORK_MAX_RULES. */
int network_add_rule(struct network *network, const struct host_rule *rule, sbr_error *err)
    must_check;
/* The byte form for sandbox-run-egress.  Decoding checks everything. */
void network_encode(const struct network *network, struct buf *out);
int network_decode(struct buf_reader *in, struct network *ret, sbr_error *err) must_check;

/* The ports of the host's own loopback that the rules open, each once; at most `max`. */
size_t network_loopback_ports(const struct network *network, uint16_t *ports, size_t max);

/* Addresses inside a sandbox that has an egress process.  198.18.0.0/15 is reserved for benchmarks,
 * so that no real host has one of these. */
#define EGRESS_HERE4 "198.18.0.1"     /* the sandbox itself */
#define EGRESS_RESOLVER4 "198.18.0.2" /* answers DNS queries */
#define EGRESS_NAMES4 "198.18.4.0"    /* up to 198.19.255.255: one for each resolved name */
#define EGRESS_HERE6 "fd53:6272::1"
#define EGRESS_NAMES6 "fd53:6272:1::" /* /48: the last four bytes are the number of the name */
#define EGRESS_PORT 1                 /* of the listeners; no service uses it */
#define EGRESS_MARK 0x5b72            /* on every packet that sandbox-run-egress sends inwards */

/* The user's proxy, by which the way out reaches hosts; its password is not here. */
struct network_proxy {
    char host[HOSTNAME_SIZE]; /* empty: there is none */
    uint16_t port;
    struct network direct; /* hosts that are dialled without it, with all names below them */
};

/* True when this (canonical) name, or address as text, is reached by the proxy. */
bool network_proxy_is_for(const struct network_proxy *proxy, const char *name, uint16_t port);
/* Adds a word of NO_PROXY; one that names no host changes nothing. */
int network_proxy_add_direct(struct network_proxy *proxy, const char *word, sbr_error *err)
    must_check;
void network_proxy_encode(const struct network_proxy *proxy, struct buf *out);
int network_proxy_decode(struct buf_reader *in, struct network_proxy *ret, sbr_error *err)
    must_check;
void network_proxy_done(struct network_proxy *proxy);

#endif
