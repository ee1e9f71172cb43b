/* Turns what the program asked for into the addresses that may be dialled: looked
 * up, decided, counted. */
#ifndef EGRESS_TARGET_H
#define EGRESS_TARGET_H

#include "egress/egress_internal.h"

#define TARGET_TEXT (HOSTNAME_SIZE + 8)

struct target {
    struct egress *egress;
    struct endpoint asked;
    bool host_loopback;       /* a loopback address inside that a rule opens to the host's */
    bool is_stream;           /* TCP, which a proxy can pass on                            */
    bool by_proxy;            /* `addresses` and `port` are the proxy's                    */
    uint16_t port;            /* that is dialled                                           */
    struct name_entry *entry; /* the name that the address stands for, or NULL             */
    struct address
        addresses[NAME_MAX_ADDRESSES]; /* that may be dialled; none: refused or not found */
    unsigned int n;
    void (*found)(void *context);
    void *context;
    bool asking;
    bool waits;                  /* for a person */
    bool once;                   /* allowed alone */
    uint64_t until_us;           /* it waits no longer; 0: it did not wait yet */
    struct link held;            /* of egress->held, while it waits */
    char wanted[HOST_RULE_TEXT]; /* the rule that would allow it */
};

/* Calls `found` at once or later.  A refusal is noted. */
void target_find(struct target *target);
/* The rules are others than when the target began to wait. */
void target_again(struct target *target);
/* No answer came: it is refused. */
void target_give_up(struct target *target);
/* Cancels the call of `found`. */
void target_forget(struct target *target);
/* host:port, with the name where there is one. */
const char *target_text(const struct target *target, char buf[TARGET_TEXT]);

/* Notes that the proxy by which the target is reached does not work: "does not answer". */
void target_deny_proxy(const struct target *target, const char *what);

#endif
