/* What a host with secrets gets and may not give back. */
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "secrets/helper.h"

static bool is_for(const struct secret *one, const char *name, uint16_t port)
{
    for (size_t i = 0; i < one->n_hosts; i++)
        if (network_rule_is_for(&one->hosts[i], name, port))
            return true;
    return false;
}

static bool is_unreserved(const struct secret *one)
{
    return strspn(one->value,
                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") == one->len;
}

/* A quote in a value would end the string of JSON that the placeholder stands in. */
static bool fits_body(const struct secret *one)
{
    return !strpbrk(one->value, "\"\\");
}

static int add_placeholder(struct rewrite_rules *rules, const struct secret *one,
                           unsigned int which)
{
    bool query = one->places & SECRET_IN_QUERY;
    bool body = (one->places & SECRET_IN_BODY) && fits_body(one);

    if (mask_add(&rules->headers, one->placeholder, one->value, one->len, which) < 0 ||
        mask_add_forms(&rules->replies, one->value, one->placeholder, one->len, which) < 0)
        return -1;
    if (query && mask_add_escapes(&rules->query, one->placeholder, one->value, one->len, which) < 0)
        return -1;
    if (query && is_unreserved(one) &&
        mask_add(&rules->query, one->placeholder, one->value, one->len, which) < 0)
        return -1;
    if (body && mask_add(&rules->body, one->placeholder, one->value, one->len, which) < 0)
        return -1;
    return 0;
}

/* The password of "Basic", or the token of "Bearer". */
static int hide_added(struct rewrite_rules *rules, const struct secret *one, unsigned int which)
{
    const char *space = strchr(one->value, ' '), *token = space ? space + 1 : one->value;
    size_t len = one->len - (size_t)(token - one->value), plain_len;
    char *plain = NULL;
    int r = mask_add_forms(&rules->replies, token, NULL, len, which);

    if (r < 0 || encoding_from_base64(token, &plain, &plain_len) < 0)
        return r;
    if (strncmp(one->value, "Basic ", strlen("Basic ")) == 0) {
        const char *colon = memchr(plain, ':', plain_len);
        const char *password = colon ? colon + 1 : plain;

        r = mask_add_forms(&rules->replies, password, NULL, plain_len - (size_t)(password - plain),
                           which);
    }
    explicit_bzero(plain, plain_len);
    free(plain);
    return r;
}

static int add_secret(struct host *host, struct rewrite_rules *rules, const struct secret *one,
                      unsigned int which)
{
    switch (one->use) {
    case SECRET_PLACEHOLDER:
        return add_placeholder(rules, one, which);
    case SECRET_ADDED:
        host->added[rules->n_added++] = (struct http_added){ one->header, one->value, which };
        return hide_added(rules, one, which);
    case SECRET_CERTIFICATE:
    case N_SECRET_USES:
        break;
    }
    return 0;
}

static void prepare(struct rewrite_rules *rules)
{
    struct mask *const masks[] = { &rules->headers, &rules->query, &rules->body, &rules->replies,
                                   &rules->watched };

    for (size_t i = 0; i < ARRAY_LEN(masks); i++)
        mask_prepare(masks[i]);
}

/* Without TLS only the secrets go out that are for it; the others may still be echoed. */
static int fill(const struct helper *helper, struct host *host, struct rewrite_rules *rules)
{
    for (unsigned int i = 0; i < helper->secrets.n; i++) {
        const struct secret *one = &helper->secrets.at[i];
        bool wanted = is_for(one, host->name, host->port) && one->plain == !rules->tls;

        if (wanted && add_secret(host, rules, one, i) < 0)
            return -1;
        if (one->placeholder && mask_add(&rules->watched, one->placeholder, NULL, one->len, i) < 0)
            return -1;
    }
    prepare(rules);
    return 0;
}

static struct host *make(struct helper *helper, const char *name, uint16_t port)
{
    struct host *host = calloc(1, sizeof(*host));

    if (!host)
        return NULL;
    memcpy(host->name, name, strlen(name) + 1);
    host->port = port;
    for (unsigned int i = 0; i < helper->secrets.n; i++)
        host->plain |= helper->secrets.at[i].plain && is_for(&helper->secrets.at[i], name, port);
    host->rules = (struct rewrite_rules){
        .name = host->name, .port = port, .tls = !host->plain, .added = host->added
    };
    if (fill(helper, host, &host->rules) == 0 &&
        (host->plain || (host->leaf = authority_sign(&helper->authority, name))))
        return host;
    free(host);
    return NULL;
}

struct host *host_of(struct helper *helper, const char *name, uint16_t port)
{
    struct host *host;

    for (size_t i = 0; i < helper->n_hosts; i++)
        if (helper->hosts[i]->port == port && !strcmp(helper->hosts[i]->name, name))
            return helper->hosts[i];
    if (helper->n_hosts == HOSTS_MAX)
        return NULL;
    host = make(helper, name, port);
    if (host)
        helper->hosts[helper->n_hosts++] = host;
    return host;
}

int host_watch_all(struct helper *helper)
{
    for (unsigned int i = 0; i < helper->secrets.n; i++) {
        const struct secret *one = &helper->secrets.at[i];

        if (one->placeholder && mask_add(&helper->watched, one->placeholder, NULL, one->len, i) < 0)
            return -1;
    }
    mask_prepare(&helper->watched);
    return 0;
}
