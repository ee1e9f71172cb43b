/* Addresses inside a sandbox that has an egress process.  198.18.0.0/15 is reserved for benchmarks,
 * so that no real host has one of these. */
#ifndef MODEL_INSIDE_NETWORK_H
#define MODEL_INSIDE_NETWORK_H

#define EGRESS_HERE4 "198.18.0.1"     /* the sandbox itself */
#define EGRESS_RESOLVER4 "198.18.0.2" /* answers DNS queries */
#define EGRESS_NAMES4 "198.18.4.0"    /* up to 198.19.255.255: one for each resolved name */
#define EGRESS_HERE6 "fd53:6272::1"
#define EGRESS_NAMES6 "fd53:6272:1::" /* /48: the last four bytes are the number of the name */
#define EGRESS_PORT 1                 /* of the listeners; no service uses it */
#define EGRESS_MARK 0x5b72            /* on every packet that sandbox-run-egress sends inwards */

#endif
