/* Says what is being waited for, after a second, while this thread is busy with it: at a terminal
 * as one line with the seconds, which goes when it is done; elsewhere as one line of stderr. */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include <pthread.h>
#include <stdbool.h>

struct waiting {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool began, over;
    char title[120];
};

/* `quiet`: nothing is said. */
void waiting_begin(struct waiting *w, const char *title, bool quiet);
void waiting_end(struct waiting *w);

#endif
