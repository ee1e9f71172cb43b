/* Runs that are over are kept while there is room. */
#ifndef HTTP_EXECUTION_KEPT_H
#define HTTP_EXECUTION_KEPT_H

struct server;

/* Where there are too many, forgets the oldest of the tenant that holds most. */
void execution_kept_trim(struct server *server);

#endif
