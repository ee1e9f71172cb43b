/* Receives what the filter refuses, notes it, and answers as the filter would have.
 *
 *   Should:  answer every question, the first thousands at once, whatever becomes of the note; read
 *            no more of the program's memory than an address and one packet.
 *   Mustn't: allow a call that the policy refuses; wait for anything; keep more than a fixed number
 *            of bytes.
 *
 * The memory may change before or after we read it: it is good enough for a note, and decides only
 * between an error and a kernel without a network. */
#ifndef MONITOR_SECCOMP_NOTIFY_H
#define MONITOR_SECCOMP_NOTIFY_H

#include <linux/seccomp.h>
#include <sys/types.h>

#include "base/loop.h"
#include "model/denial.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"

/* This many are answered at once.  After that the caller waits: answers cost us at most about a
 * tenth of one CPU, which no limit of the program covers, half of it for waking up. */
#define NOTIFY_FREE 4096
#define NOTIFY_SHARE 50
#define NOTIFY_BURST_US 2000

/* A socket that believes it is connected to the resolver, until it asks its question. */
struct notify_lookup {
    pid_t task;
    int fd;
};
#define NOTIFY_LOOKUPS 8

struct seccomp_notify {
    int control;  /* borrowed; the listener comes from there */
    int listener; /* -1: not yet, or none */
    struct loop *loop;
    struct loop_watch listener_watch, control_watch;
    const struct plan *plan;
    pid_t init;
    struct denials
        *denials; /* borrowed; of the process that asks, where `list_of` tells them apart */
    /* In a session: where to note what this task was refused; 0: the kernel whose cell runs. */
    struct denials *(*list_of)(void *context, pid_t task);
    /* The program's terminal came before the listener; takes over the file descriptor. */
    void (*terminal_came)(void *context, int master);
    void *context;

    /* The last refusal that matters only when the program fails; NULL: there was none. */
    const struct policy *probe_by;
    struct seccomp_data probe;

    uint64_t answered;
    struct pace pace;   /* of answers, once there were many */
    unsigned int timer; /* slot of the loop for the end of a pause */

    struct notify_lookup lookups[NOTIFY_LOOKUPS];
    unsigned int next_lookup;
    unsigned int lookups_seen, names_seen;
    unsigned int loopback_looks; /* reading the tables of sockets is slow as well */
    uint16_t unserved_port;      /* of loopback, connected to in vain; 0: none */

    unsigned int netlinks; /* at the last count, and made after it */
    unsigned int filters;  /* of the program's own, ever */
    unsigned int sockets;  /* that may be made before the next count */
};

/* The answer to the program. */
struct notify_answer {
    int error;     /* as an errno; 0: success, unless `go_on` */
    bool go_on;    /* the kernel executes the call */
    long long val; /* with success */
};

/* Takes the listener from the sandbox, or receives it over the control socket.  Does nothing when
 * the plan has no report. */
int seccomp_notify_start(struct seccomp_notify *n, struct sandbox *box, sbr_error *err) must_check;
/* No process is left inside: adds the last note and stops watching.  May be called again. */
void seccomp_notify_finish(struct seccomp_notify *n);
/* The program failed: also notes the refusal that may be the cause. */
void seccomp_notify_blame(struct seccomp_notify *n);
/* A new cell begins: what may have been the cause of an earlier failure is not of a later one. */
void seccomp_notify_forget(struct seccomp_notify *n);

/* connect, sendto and sendmmsg without a network (notify_network.c). */
struct notify_answer notify_network(struct seccomp_notify *n, const struct seccomp_notif *notif);
/* Calls whose number is bounded (notify_count.c). */
struct notify_answer notify_count(struct seccomp_notify *n, const struct seccomp_notif *notif);
/* The program failed: notes the port of loopback at which nothing waited. */
void notify_unserved(struct seccomp_notify *n);
/* Notes that a name was looked up, without knowing which. */
void notify_unnamed(struct seccomp_notify *n);
/* False when the caller is gone: what was read is then not its memory. */
bool seccomp_notify_is_valid(const struct seccomp_notify *n, const struct seccomp_notif *notif);
/* "clone(CLONE_NEWUSER)": the call and the arguments that matter (notify_text.c). */
void notify_text(const char *call, const struct seccomp_data *data, char *text, size_t size);

#endif
