/* What the readers of credentials have in common: see toolchain/credentials.h. */
#ifndef TOOLCHAIN_CREDENTIAL_PARTS_H
#define TOOLCHAIN_CREDENTIAL_PARTS_H

#include "toolchain/credentials.h"

#define CREDENTIAL_FILE_MAX (1 << 20)

/* HOST[:PORT] or [IPv6][:PORT], as it stands in an address. */
struct authority {
    const char *at;
    size_t len;
    bool plain; /* of an http address */
};

/* The part of an address between its scheme and its path, without a user.  `text` begins with the
 * scheme, with // or with the host.  False: there is no host. */
bool credential_authority(const char *text, size_t len, struct authority *ret);

/* A header of every request to the host.  The first one for a host and a header counts. */
int credential_header(struct secrets *found, const struct authority *host, const char *name,
                      const char *value, sbr_error *err) must_check;
/* Authorization: `scheme` and the value. */
int credential_scheme(struct secrets *found, const struct authority *host, const char *scheme,
                      const char *value, sbr_error *err) must_check;
int credential_basic(struct secrets *found, const struct authority *host, const char *user,
                     const char *password, sbr_error *err) must_check;
/* A certificate and its key, from PEM texts; the first may hold both. */
int credential_certificate(struct secrets *found, const struct authority *host, const char *chain,
                           const char *key, sbr_error *err) must_check;
/* The same, from files. */
int credential_certificate_files(struct secrets *found, const struct authority *host,
                                 const char *chain, const char *key, sbr_error *err) must_check;
/* [http://][user:password@]host[:port]; the first one counts. */
int credential_proxy(struct secrets *found, const char *address, sbr_error *err) must_check;
/* Hosts with commas or blanks that are reached without it. */
int credential_direct(struct secrets *found, const char *list, sbr_error *err) must_check;
/* Certificates to trust: a file in PEM, or their text. */
int credential_roots_file(struct secrets *found, const char *path, sbr_error *err) must_check;
int credential_roots(struct secrets *found, const char *pem, sbr_error *err) must_check;

/* Copies the text; users of addresses become credentials of their hosts. */
int credential_addresses(const char *data, size_t len, struct secrets *found, struct buf *ret,
                         sbr_error *err) must_check;
/* The value without quotes, with ${NAME} and ${env.NAME} of our environment.  The caller frees it
 * with credential_free; NULL without memory. */
char *credential_value(const char *at, size_t len);
void credential_free(char *text);
/* A file of the user's that configuration names, at most CREDENTIAL_FILE_MAX; NULL: none. */
char *credential_file(const char *path);

int credential_take_lines(enum credential_form form, const char *data, size_t len,
                          struct secrets *found, struct buf *ret, sbr_error *err) must_check;
int credential_take_maven(const char *data, size_t len, struct secrets *found, struct buf *ret,
                          sbr_error *err) must_check;
int credential_take_composer(const char *data, size_t len, struct secrets *found, struct buf *ret,
                             sbr_error *err) must_check;
int credential_take_netrc(const char *data, size_t len, struct secrets *found, sbr_error *err)
    must_check;

static inline void credential_scope_free(char **text)
{
    credential_free(*text);
}
#define scoped_credential __attribute__((cleanup(credential_scope_free)))

#endif
