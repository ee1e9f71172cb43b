/* Spare sessions: a session like one that was made before, with its kernel ready, which waits for
 * `create`.  It belongs to nobody and ends with the engine until then; adopted, it is a session
 * like every other, and neither the engine nor the session that made it matters to it any more.
 *
 *   a session is made --> is there an engine, and no spare of this key? --> forks a maker
 *   maker --> forks a spare, waits for its adoption, forks the next; ends with a spare that ends
 *   create --> a spare of the key? --adopt--> the spare moves its directory and tells its maker */
#ifndef SESSION_SPARE_H
#define SESSION_SPARE_H

#include "session/supervisor.h"

/* Fills the name of all that such a session depends on; empty: it is always made anew. */
void spare_name_key(const sbr_request *req, const struct language *language,
                    const struct session_bounds *bounds, char key[SHA256_HEX_SIZE]);
/* False: there is none; otherwise *ret is the session's description, to be freed.  `req` says
 * who the client is for the engine. */
bool spare_take(const char *key, const sbr_request *req, const struct session_bounds *bounds,
                char **ret);

/* In its maker: a spare that waits for the engine's end; it says on *ret_adopted that a client has
 * adopted it.  Negative: none is wanted now, or it cannot be. */
int spare_begin(const struct session *s, struct session *made, int *ret_adopted, sbr_error *err)
    must_check;
/* False: it has ended before. */
bool spare_await_adoption(int fd);
/* In the process of the spare: once its kernel is ready, and once it is lost. */
void spare_go_on(struct session *s);
/* A client wants it: the answer, or NULL and an error. */
json_t *spare_adopt(struct session *s, const json_t *line, sbr_error *err);
/* Once it is adopted.  False: it has no maker, or none any more. */
bool spare_ask_next(struct session *s);

/* Connects to a spare of the key; NULL: there is none. */
sbr_session *spare_connect(const char *key);
/* Whether a session of that request has spares. */
bool spare_is_plain(const sbr_request *req);
/* What a client says to adopt one; the caller owns it. */
json_t *spare_adopt_words(const char *key, const sbr_request *req,
                          const struct session_bounds *bounds);

/* spare_copy.c */
/* Gives the state of `made`, a copy that is being made, to a spare; *ret_fd says what becomes of
 * it.  False: there is none, or it cannot. */
bool spare_copy_give(const struct session *made, int *ret_fd);
/* In the spare, as spare_adopt: takes that state from its client, and its kernel becomes the copy.
 */
json_t *spare_copy_adopt(struct session *s, struct connection *c, const json_t *line,
                         sbr_error *err);

#endif
