/* Sockets that listen on the host's loopback for published ports.  They are made before the first
 * stage, so that a busy port ends the job before anything was compiled. */
#ifndef SANDBOX_PUBLISH_LISTENERS_H
#define SANDBOX_PUBLISH_LISTENERS_H

#include "model/publish.h"
#include "wire/publishing.h"

struct publish_listeners {
    struct {
        int fd;
        uint32_t rule; /* number of the rule that it is of */
    } items[PUBLISH_LISTENERS];
    size_t n;
    struct publish published; /* with the ports and addresses that listen */
};

/* Opens a socket for each address of each rule.  After a failure none is open. */
int publish_listeners_open(struct publish_listeners *ret, const struct publish *wanted,
                           sbr_error *err) must_check;
void publish_listeners_close(struct publish_listeners *listeners);

#endif
