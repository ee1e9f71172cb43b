/* Hears what the filter refuses, notes it, and gives the answer that the filter would have given.
 *
 *   Should:  answer every question, the first thousands at once, whatever becomes of the note; read no more of the program than an address
 *            and one packet.
 *   Mustn't: let a call through that the policy refuses; wait for anything; keep more than a fixed number of bytes.
 *
 * What is read may have changed since and may change again: it is good for a note, and decides only between an error
 * and a kernel that has no network to offer. */
#ifndef MONITOR_SECCOMP_NOTIFY_H
#define MONITOR_SECCOMP_NOTIFY_H

#include <linux/seccomp.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/pace.h"
#include "model/denial.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"

/* So many are answered as fast as they come.  Then the answers cost us at most about a tenth of one processor, in which
 * no limit of the program's counts: half of it is the answering, half of it the waking up.  Whoever asks waits. */
#define NOTIFY_FREE 4096
#define NOTIFY_SHARE 50
#define NOTIFY_BURST_US 2000

/* A socket that was told it is connected to the resolver, until it asks its question. */
struct notify_lookup {
    pid_t task;
    int fd;
};
#define NOTIFY_LOOKUPS 8

struct seccomp_notify {
    int control;  /* borrowed; the listener comes from there   */
    int listener; /* -1: not yet, or none                      */
    struct loop *loop;
    struct loop_watch listener_watch, control_watch;
    const struct plan *plan;
    pid_t init;
    struct denials *denials; /* borrowed */

    /* The last refusal that is worth a word only when the program fails; NULL: there was none. */
    const struct policy *probe_by;
    struct seccomp_data probe;

    uint64_t answered;
    struct pace pace;   /* of answers, once there were many                 */
    unsigned int timer; /* slot of the loop for the end of a rest           */

    struct notify_lookup lookups[NOTIFY_LOOKUPS];
    unsigned int next_lookup;
    unsigned int lookups_seen, names_seen;

    unsigned int netlinks; /* sockets at the last look and since then */
    unsigned int filters;  /* of the program's own, ever              */
    unsigned int sockets;  /* sockets that may be made before the next look */
};

/* What to tell the program. */
struct notify_answer {
    int error;     /* as an errno; 0: success, unless `go_on` */
    bool go_on;    /* the kernel shall do it                  */
    long long val; /* with success                            */
};

/* The listener is there already, or comes over the sandbox's control socket.  Does nothing when the plan has no report. */
int seccomp_notify_start(struct seccomp_notify *n, struct sandbox *box, sbr_error *err) must_check;
/* Nobody is left inside: the last note, and no more watching.  May be called again. */
void seccomp_notify_finish(struct seccomp_notify *n);
/* The program failed: what it may have failed of is noted as well. */
void seccomp_notify_blame(struct seccomp_notify *n);

/* connect, sendto and sendmmsg without a network (notify_network.c). */
struct notify_answer notify_network(struct seccomp_notify *n, const struct seccomp_notif *notif);
/* What is bounded by its number (notice_count.c). */
struct notify_answer notify_count(struct seccomp_notify *n, const struct seccomp_notif *notif);
/* A name was looked up, and nobody saw which. */
void notify_unnamed(struct seccomp_notify *n);
/* False when the one who asks is gone: what was read since is not its memory. */
bool seccomp_notify_is_valid(const struct seccomp_notify *n, const struct seccomp_notif *notif);
/* "clone(CLONE_NEWUSER)": the call and what mattered of its arguments (notify_text.c). */
void notify_text(const char *call, const struct seccomp_data *data, char *text, size_t size);

#endif
