/* Piston's forms: its requests to ours, our stages to its own. */
#ifndef DIALECT_PISTON_H
#define DIALECT_PISTON_H

#include "dialect/catalog.h"
#include "dialect/translate.h"

#define PISTON_MESSAGE_SIZE 240

/* The language of a body of /execute; NULL: `message` says what is wrong with it. */
const struct catalog_row *piston_find(const struct catalog *catalog, const struct grant *tenant,
                                      const json_t *body, char message[PISTON_MESSAGE_SIZE]);
/* Our request for such a body, without stdin; NULL: `message` says why there is none. */
json_t *piston_request(const struct grant *tenant, const json_t *body,
                       const struct catalog_row *row, char message[PISTON_MESSAGE_SIZE]);
/* One stage, or the result itself, with code, signal, message and status; `output` is taken over;
 * NULL: both streams, one after the other. */
json_t *piston_stage(const json_t *stage, json_t *output);
/* The stage that compiled, also when the cache had what it makes; NULL: there is none. */
json_t *piston_compile(const json_t *result);

/* GET /api/v2/connect. */
void piston_connect(struct exchange *x);
void piston_tick(struct server *server, uint64_t now_us);

#endif
