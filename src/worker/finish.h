/* The end of a worker without exit handlers that have no visible effect. */
#ifndef WORKER_FINISH_H
#define WORKER_FINISH_H

#include <stdbool.h>

/* In the zygote, when all its libraries are loaded: copies that load no others skip the exit
 * handlers that are known now; 0 or -1. */
int finish_skip_handlers(void);
bool finish_has_same_libraries(void);

#endif
