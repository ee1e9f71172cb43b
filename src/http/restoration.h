/* What a gateway that starts does with the record of the one before.
 *
 * A job that had ended is there, with its result.  One that had begun is lost and is not run again.
 * One that was only accepted is begun, with what its token grants now, as soon as there is room. */
#ifndef HTTP_RESTORATION_H
#define HTTP_RESTORATION_H

struct server;

/* Reads the record; where that fails, the log says why, and no job is accepted. */
void restoration_open(struct server *server);
/* After each turn of the loop: begins what waits for room, and hands changes to the record. */
void restoration_run(struct server *server);
/* How many wait to be begun: another gateway may do that. */
unsigned int restoration_waiting(const struct server *server);
void restoration_close(struct server *server);

#endif
