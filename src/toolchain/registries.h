/* The hosts that an installer may reach: those for which its clients are configured.
 *
 * The configuration is the operator's: variables, files of the clients, and the defaults in the
 * language's file.  What the program's author wrote, manifests and locks, opens nothing.  Addresses
 * are found anywhere in that configuration, not by a parser for each client, so that it does not
 * matter which of its many keys a client reads. */
#ifndef TOOLCHAIN_REGISTRIES_H
#define TOOLCHAIN_REGISTRIES_H

#include "base/buf.h"
#include "base/err.h"
#include "model/network.h"
#include "plan/language.h"

/* More hosts for installers, for mirrors that redirect: HOST[:PORT], with blanks or commas. */
#define REGISTRIES_ENV "SANDBOX_RUN_REGISTRIES"

/* Adds a file, or NAME=VALUE, to the text for registries_find(): without comments, XML without
 * attributes (they have addresses of schemas), and no file with certificates. */
void registries_add_text(struct buf *text, const char *data, size_t len);

/* Adds a file, or NAME=VALUE, without its credentials: users and passwords of addresses, values of
 * settings with such names, PEM blocks. */
void registries_add_plain(struct buf *text, const char *data, size_t len);
/* True for a setting whose value is a credential by its name. */
bool registries_is_secret_name(const char *word, size_t len);
/* True for files that contain only credentials. */
bool registries_is_secret_file(const char *path);

/* Adds a rule for every address in `text`, and for the defaults that it does not replace.  `ret`
 * may have rules already. */
int registries_find(const struct stage_def *def, const char *text, struct network *ret,
                    sbr_error *err) must_check;

#endif
