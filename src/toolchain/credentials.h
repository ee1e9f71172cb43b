/* Credentials in the configuration of package clients.
 *
 *   (1) What goes inside has none: addresses have no users, files no tokens, and no proxy is named.
 *   (2) What was found goes to the way out (model/secret.h), which adds it to requests to the host
 *       that it is for.
 *   (3) Scripts of packages run when the network is closed, so they cannot publish with the token
 *       of their installer.  What runs while packages are fetched (a Gemfile, a cpanfile, the pip
 *       of an image) can. */
#ifndef TOOLCHAIN_CREDENTIALS_H
#define TOOLCHAIN_CREDENTIALS_H

#include "base/buf.h"
#include "model/network.h"
#include "model/secret.h"

/* How a client writes its configuration. */
enum credential_form {
    FORM_TEXT,         /* a variable, a program: only addresses and named settings are understood */
    FORM_NPM,          /* .npmrc */
    FORM_PIP,          /* pip.conf */
    FORM_CARGO,        /* config.toml */
    FORM_CARGO_TOKENS, /* credentials.toml */
    FORM_GEM,          /* .gemrc */
    FORM_MAVEN,        /* settings.xml */
    FORM_COMPOSER,     /* config.json, auth.json, COMPOSER_AUTH */
    FORM_NETRC,
    FORM_SECRET, /* nothing but credentials, and of no use outside either */
};

/* The form of a file by its path inside, or of the file that a variable names. */
enum credential_form credentials_form(const char *variable, const char *path);

/* Copies the text without what is secret, and keeps that in `found`.  Nothing in `ret`: the file is
 * not needed inside. */
int credentials_take(enum credential_form form, const char *data, size_t len, struct secrets *found,
                     struct buf *ret, sbr_error *err) must_check;

/* One variable.  CREDENTIAL_GONE: it is not needed inside. */
enum credential_variable { CREDENTIAL_STAYS, CREDENTIAL_GONE, CREDENTIAL_ERROR };
enum credential_variable credentials_take_variable(const char *name, const char *value,
                                                   struct secrets *found, struct buf *ret,
                                                   sbr_error *err) must_check;
/* True for variables that name the certificates to trust: while there are secrets, the way out
 * trusts them, and the client trusts the way out. */
bool credentials_is_roots(const char *variable);
int credentials_trust(struct secrets *found, const char *path, sbr_error *err) must_check;
/* Credentials of a name with every port get a copy for each other port that `network` has it with.
 * Before credentials_find_plain(). */
int credentials_spread(struct secrets *found, const struct network *network, sbr_error *err)
    must_check;
/* Marks what may go out without TLS: hosts that `text`, all of the configuration, asks by http. */
int credentials_find_plain(struct secrets *found, const char *text, sbr_error *err) must_check;

#endif
