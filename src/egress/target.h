/* From what the program asked for to the addresses that may be dialled for it: looked up, decided, counted. */
#ifndef EGRESS_TARGET_H
#define EGRESS_TARGET_H

#include "egress/egress_internal.h"

#define TARGET_TEXT (HOSTNAME_SIZE + 8)

struct target {
    struct egress *egress;
    struct endpoint asked;
    bool host_loopback; /* asked for a loopback address inside that a rule opens to the host's */
    struct name_entry *entry; /* the name that the address stands for; NULL: for itself           */
    struct address
        addresses[NAME_MAX_ADDRESSES]; /* that may be dialled; none: refused or not found */
    unsigned int n;
    void (*found)(void *context);
    void *context;
    bool asking;
};

/* Calls `found` at once or later.  A refusal is noted. */
void target_find(struct target *target);
/* `found` will not be called any more. */
void target_forget(struct target *target);
/* host:port, with the name where there is one. */
const char *target_text(const struct target *target, char buf[TARGET_TEXT]);

#endif
