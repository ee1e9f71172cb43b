/* Addresses inside a sandbox that has a way out.  198.18.0.0/15 is kept for benchmarks, so no real host has one of
 * these. */
#ifndef MODEL_INSIDE_NETWORK_H
#define MODEL_INSIDE_NETWORK_H

#define EGRESS_HERE4 "198.18.0.1"     /* the sandbox's own                                      */
#define EGRESS_RESOLVER4 "198.18.0.2" /* where names are looked up                              */
#define EGRESS_NAMES4 "198.18.4.0"    /* from here to 198.19.255.255: names that were looked up */
#define EGRESS_HERE6 "fd53:6272::1"
#define EGRESS_NAMES6 "fd53:6272:1::" /* /48: the last four bytes are the number of the name */
#define EGRESS_PORT 1                 /* of the listeners; nobody serves there               */
#define EGRESS_MARK 0x5b72            /* of every packet that sandbox-run-egress sends inwards */

#endif
