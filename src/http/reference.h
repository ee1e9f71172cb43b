/* A page that lists the routes, for a browser: made from the route table, without scripts and
 * without a request to anywhere. */
#ifndef HTTP_REFERENCE_H
#define HTTP_REFERENCE_H

/* HTML; the caller frees it.  NULL without memory. */
char *reference_text(void);

#endif
