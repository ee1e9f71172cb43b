/* How a front confines itself before it reads a byte of a client. */
#ifndef FRONT_FRONT_CONFINE_H
#define FRONT_FRONT_CONFINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Becomes another user (0: stays), gives up all files, the network and all system calls but those
 * of policies/front.yaml, for ever. */
int front_confine(uint32_t uid, const void *filter, size_t size, sbr_error *err) must_check;

#endif
