/* The names that libseccomp and our own table know, for the table of the run time. */
#ifndef GENERATE_CALLS_SECCOMP_H
#define GENERATE_CALLS_SECCOMP_H
#include "plan/calls.h"

/* All names of all architectures, sorted, each once; the caller frees them.  How many. */
size_t calls_names(char **ret, size_t max);

#endif
