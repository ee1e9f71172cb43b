/* Secrets that never enter a sandbox: sandbox-run-secrets puts them into requests on their way out.
 *
 *   (1) Values are in memory of their own (base/secret_memory.h) and wiped by secrets_done().
 *   (2) A value is never in a plan, an environment, a command line, a log or a file: it goes from
 *       here to the helper over a socket, and nowhere else. */
#ifndef MODEL_SECRET_H
#define MODEL_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/string_list.h"
#include "model/network.h"

#define SECRET_MAX_NAME 64
#define SECRET_MIN_BYTES 8 /* a shorter placeholder would be found where nobody meant it */
#define SECRET_MAX_BYTES 16384
#define SECRET_MAX_HOSTS 16
#define SECRET_MAX_HEADER 64
#define SECRETS_MAX 32

enum secret_use {
    SECRET_PLACEHOLDER, /* the program holds a placeholder, which the value replaces           */
    SECRET_ADDED,       /* nothing is inside: `header` with the value is set in every request  */
    SECRET_CERTIFICATE, /* nothing is inside: certificate and key, for servers that ask for it */
    N_SECRET_USES
};

/* Where a placeholder is replaced; always in headers, also inside Basic credentials. */
#define SECRET_IN_QUERY 1u
#define SECRET_IN_BODY 2u

struct secret {
    char name[SECRET_MAX_NAME + 1]; /* what people read of it; of a placeholder also the variable */
    enum secret_use use;
    uint32_t places; /* SECRET_IN_* */
    bool plain;      /* may also go over HTTP without TLS */
    bool any_port;   /* its host is meant with every port: only of configuration that is read */
    char header[SECRET_MAX_HEADER + 1]; /* SECRET_ADDED: its name, as in "Authorization" */
    char *value;                        /* secret memory; SECRET_CERTIFICATE: PEM */
    size_t len;
    char *placeholder; /* as long as the value; NULL: not drawn yet */
    struct host_rule *hosts;
    size_t n_hosts;
};

/* An upstream proxy that only the way out knows. */
struct secret_proxy {
    char host[HOSTNAME_SIZE]; /* empty: there is none */
    uint16_t port;
    char *credentials; /* USER:PASSWORD, secret memory; NULL: none */
    size_t len;
    struct string_list
        direct; /* hosts that are dialled without it: NAME or .NAME, as in NO_PROXY */
};

struct secrets {
    struct secret *at;
    size_t n;
    struct secret_proxy proxy;
    char *roots; /* certificates in PEM that are trusted besides the host's own; may be NULL */
    size_t roots_len;
};

/* True when a stage needs the helper: any secret, or a proxy. */
bool secrets_are_given(const struct secrets *secrets);
/* Adds a copy, with a value of its own.  Refuses names, values and hosts that cannot work. */
int secrets_add(struct secrets *secrets, const struct secret *one, sbr_error *err) must_check;
void secrets_remove(struct secrets *secrets, size_t index);
int secrets_set_proxy(struct secrets *secrets, const char *host, uint16_t port,
                      const char *credentials, sbr_error *err) must_check;
int secrets_copy(struct secrets *to, const struct secrets *from, sbr_error *err) must_check;
/* Adds those of `from`, in place of those with the same names. */
int secrets_join(struct secrets *to, const struct secrets *from, sbr_error *err) must_check;
/* Wipes the values. */
void secrets_done(struct secrets *secrets);
/* Wipes the values alone, once the helper has them; names, placeholders and hosts stay. */
void secrets_wipe_values(struct secrets *secrets);

/* NAME[=VALUE|=@FILE]:HOST[,HOST...][+query][+body]; HOST is a rule of model/network.h, with port
 * 443 unless given, or http://HOST[:PORT] for one without TLS.  The value is the caller's variable
 * NAME unless given.  NAME alone is for secrets_resolve(). */
int secrets_add_text(struct secrets *secrets, const char *text, sbr_error *err) must_check;
/* A name that secrets_resolve() is to find, and nothing else: what a request in JSON may say. */
int secrets_add_name(struct secrets *secrets, const char *name, sbr_error *err) must_check;
/* Gives names without a value what the texts of `known` say, where one has the name. */
int secrets_resolve(struct secrets *secrets, const struct string_list *known, sbr_error *err)
    must_check;
/* Refuses a text that names no secret and host; reads no value. */
int secrets_check_text(const char *text, sbr_error *err) must_check;
/* Refuses names that nothing has resolved. */
int secrets_check(const struct secrets *secrets, sbr_error *err) must_check;
const struct secret *secrets_find(const struct secrets *secrets, const char *name);
/* Draws placeholders of the same shape, new each time. */
int secrets_draw(struct secrets *secrets, sbr_error *err) must_check;

/* For the helper, and for a supervisor that is another process: over a socket or sealed memory,
 * never into a file. */
void secrets_encode(const struct secrets *secrets, struct buf *out);
int secrets_decode(struct buf_reader *in, struct secrets *ret, sbr_error *err) must_check;

#endif
