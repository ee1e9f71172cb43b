/* Both ends of TLS: towards the program with a certificate of this run, towards the host as a
 * client that verifies it. */
#ifndef SECRETS_TLS_H
#define SECRETS_TLS_H

#include "secrets/helper.h"

/* What the program's client asked for. */
struct tls_asked {
    const char *name; /* that it may ask for */
    bool other;       /* it named another */
    bool known;       /* it has asked: the rest is known */
    bool http2;       /* it speaks nothing else */
};

/* Contexts for both. */
int tls_prepare(struct helper *helper, sbr_error *err) must_check;
/* Trusts these certificates (PEM) of servers.  Reading them takes a while. */
void tls_trust(struct helper *helper, const char *roots, size_t len);
/* NULL: OpenSSL refused. */
SSL *tls_accept(const struct helper *helper, X509 *leaf, int fd, struct tls_asked *asked);
SSL *tls_connect(const struct helper *helper, const char *name, uint16_t port, int fd, bool http2);
/* After the handshake: the host speaks HTTP/2. */
bool tls_is_http2(const SSL *ssl);

#endif
