/* Which hosts an installer may reach: those that its clients are configured for.
 *
 * The configuration is the operator's: variables, files of the clients, and the defaults that the language's file
 * knows.  What the program's author wrote, manifests and locks, opens nothing.  Addresses are found wherever that
 * configuration has one, not by a parser for each client, so that it does not matter which of its many keys a client
 * reads. */
#ifndef TOOLCHAIN_REGISTRIES_H
#define TOOLCHAIN_REGISTRIES_H

#include "base/buf.h"
#include "base/err.h"
#include "model/network.h"
#include "plan/language.h"

/* More hosts for installers, for mirrors that send their clients elsewhere: HOST[:PORT], with blanks or commas. */
#define REGISTRIES_ENV "SANDBOX_RUN_REGISTRIES"

/* Adds a file, or NAME=VALUE, to the text that registries_find() reads: without comments, XML without attributes (they
 * hold addresses of schemas), certificates not at all. */
void registries_add_text(struct buf *text, const char *data, size_t len);

/* Adds a file, or NAME=VALUE, without its credentials: users and passwords of addresses, values of settings that are
 * called so, keys in armour. */
void registries_add_plain(struct buf *text, const char *data, size_t len);
/* The file holds nothing but credentials. */
bool registries_is_secret_file(const char *path);

/* A rule for every address in `text`, and for those defaults that it does not replace.  `ret` may hold rules already. */
int registries_find(const struct stage_def *def, const char *text, struct network *ret,
                    sbr_error *err) must_check;

#endif
