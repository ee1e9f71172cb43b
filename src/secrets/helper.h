/* sandbox-run-secrets: the state that its parts share. */
#ifndef SECRETS_HELPER_H
#define SECRETS_HELPER_H

#include "base/list.h"
#include "base/loop.h"
#include "secrets/authority.h"
#include "secrets/rewrite.h"
#include "wire/secrets.h"

#define HOSTS_MAX 64 /* names that a wildcard may lead to */
#define TUNNELS_MAX 256

/* One host and port with secrets. */
struct host {
    char name[HOSTNAME_SIZE];
    uint16_t port;
    bool plain; /* HTTP without TLS, because a secret says so: then all of it is */
    struct rewrite_rules rules;
    struct http_added added[SECRETS_MAX];
    X509 *leaf;
};

struct helper {
    struct secrets secrets;
    struct authority authority;
    SSL_CTX *inside, *outside;
    struct host *hosts[HOSTS_MAX];
    size_t n_hosts;
    struct mask watched; /* all placeholders, on their way to hosts without secrets */
    struct loop events;
    struct link tunnels;
    unsigned int n_tunnels;
    struct loop_watch link_watch;
    uint64_t started_us, reported_us; /* CPU time */
    bool ending;
};

/* The host's masks and certificate, made when it is first met; NULL: it cannot be had. */
struct host *host_of(struct helper *helper, const char *name, uint16_t port);
/* Looks for all placeholders; once, before the first connection. */
int host_watch_all(struct helper *helper);

#endif
