/* The OpenAPI 3.1 document, made from the route table and data/schemas. */
#ifndef HTTP_OPENAPI_H
#define HTTP_OPENAPI_H

/* JSON; the caller frees it.  NULL without memory. */
char *openapi_text(void);

#endif
