/* The attacker: one static program, one command per attack.
 *
 * It prints one line that starts with GOT (the attack worked) or NOT (and the name of the error
 * that stopped it), so that a run in which it never got to try is neither. */
#ifndef ATTACK_H
#define ATTACK_H

#include <stddef.h>

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

#endif
