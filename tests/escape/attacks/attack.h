/* The attacker: one static program, one command per attack.
 *
 * It prints one line that starts with GOT (the attack worked) or NOT (and the name of the error
 * that stopped it), so that a run in which it never got to try is neither.
 *
 *   attack many
 *
 * reads attacks from stdin, a line each with a tab between its words, and makes each in a process and
 * a directory of its own, one after the other.  Its lines then begin with the attack's number and a tab;
 * a line that is neither GOT nor NOT says how one ended that did not answer. */
#ifndef ATTACK_H
#define ATTACK_H

#include <stddef.h>
#include <sys/types.h>

struct attack {
    const char *name;
    int (*run)(int argc, char **argv);
    int n_words; /* that it needs behind its name */
};

extern const struct attack file_attacks[], process_attacks[], identity_attacks[], kernel_attacks[];
extern const struct attack socket_attacks[], ipc_attacks[], resource_attacks[];
extern const struct attack neighbour_attacks[], notice_attacks[];

/* Both print the line and return the exit status: 0 for GOT, 1 for NOT. */
int got(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int not(const char *what);
int not_because(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* GOT when `result` is not negative, NOT with errno otherwise. */
int outcome(long result, const char *what);

/* Tells the test that something is in place, then waits until it closes our stdin. */
void hold(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

long number(const char *text);

/* Whoever started the attacker: init.  And the attacker's first process, which is nobody's
 * discovery. */
extern pid_t started_by, first_process;

#endif
