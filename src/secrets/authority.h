/* The certificate authority of one run: made in memory, for the hosts that have secrets and for no
 * other name.  Its key never leaves this process. */
#ifndef SECRETS_AUTHORITY_H
#define SECRETS_AUTHORITY_H

#include <openssl/ssl.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/secret.h"

struct authority {
    EVP_PKEY *key, *leaf_key;
    X509 *certificate;
};

int authority_make(struct authority *authority, const struct secrets *secrets, sbr_error *err)
    must_check;
/* A certificate for one host, by name or address; NULL: OpenSSL refused. */
X509 *authority_sign(const struct authority *authority, const char *name);
/* PEM of the authority's own certificate. */
void authority_put_pem(const struct authority *authority, struct buf *out);
/* A trust store of Java with this certificate and those of `roots` (PEM). */
void authority_put_java(const struct authority *authority, const char *roots, size_t len,
                        struct buf *out);

#endif
