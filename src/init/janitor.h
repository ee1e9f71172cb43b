/* The janitor outlives a supervisor that was killed, and removes its control groups. */
#ifndef INIT_JANITOR_H
#define INIT_JANITOR_H

int janitor_main(const char *leaf_name);

#endif
