/* Requests and replies of one connection to a host with secrets: puts values in, masks what comes
 * back.  Pure: no socket, no clock. */
#ifndef SECRETS_REWRITE_H
#define SECRETS_REWRITE_H

#include "secrets/http_stream.h"

#define REWRITE_PENDING 64 /* requests whose replies have not begun */

/* A header that the program does not see. */
struct http_added {
    const char *name, *value;
    unsigned int which;
};

/* What one host gets: made once for each host. */
struct rewrite_rules {
    const char *name; /* of the host, canonical */
    uint16_t port;
    bool tls;
    struct mask headers; /* placeholder to value, in values of headers             */
    struct mask query;   /* the same, in the query                                 */
    struct mask body;    /* the same, in bodies                                    */
    struct mask replies; /* value to placeholder, in all that comes back           */
    struct mask watched; /* placeholders where they are not replaced: only reported */
    const struct http_added *added;
    size_t n_added;
};

enum rewrite_event {
    REWRITE_PUT_IN, /* a secret went out */
    REWRITE_LEFT, /* a placeholder went out as it is: in another place than where it is replaced */
    REWRITE_OTHER_HOST, /* the same: the request names another host */
    REWRITE_MASKED,     /* a reply had the value in it */
};

struct rewrite {
    const struct rewrite_rules *rules;
    void (*tell)(void *context, enum rewrite_event event, unsigned int which);
    void *context;
    struct http_stream out, in;
    bool is_head[REWRITE_PENDING]; /* methods of pending requests, in a ring */
    unsigned int first, n;
    bool other_asked, other;       /* another protocol was asked for; it has begun */
    enum rewrite_event event;      /* of the mask that is being applied */
    enum rewrite_event left_event; /* of a placeholder in the body */
};

void rewrite_init(struct rewrite *rewrite, const struct rewrite_rules *rules,
                  void (*tell)(void *context, enum rewrite_event event, unsigned int which),
                  void *context);
/* From the program; from the host.  False: the connection is over. */
bool rewrite_out(struct rewrite *rewrite, const char *data, size_t len, struct buf *to);
bool rewrite_in(struct rewrite *rewrite, const char *data, size_t len, struct buf *to);
void rewrite_done(struct rewrite *rewrite);

/* Parts of it, for what frames its messages in another way.  `puts_in`: the request is for this
 * host. */
bool rewrite_names_host(const struct rewrite_rules *rules, const struct http_text *text);
bool rewrite_drops(const struct rewrite_rules *rules, const struct http_line *line, bool puts_in);
void rewrite_put_value(struct rewrite *rewrite, const struct http_line *line, bool puts_in,
                       struct buf *out);
/* A target, or a line with one. */
void rewrite_put_target(struct rewrite *rewrite, const struct http_text *target, bool puts_in,
                        struct buf *out);
void rewrite_put_reply(struct rewrite *rewrite, const struct http_text *text, struct buf *out);

/* True for names of headers that hold credentials: only in these are placeholders replaced. */
bool rewrite_is_credential(const struct http_text *name);

#endif
