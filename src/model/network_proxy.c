#include "model/network.h"

#include <string.h>

static bool is_direct(const struct host_rule *rule, const char *name, uint16_t port)
{
    size_t len = strlen(name), below = strlen(rule->name);
    struct address address;

    if (rule->port && rule->port != port)
        return false;
    if (rule->kind == HOST_NETWORK)
        return address_parse(name, &address) &&
               address_is_v4(&address) == address_is_v4(&rule->network) &&
               address_in(&address, &rule->network, rule->prefix);
    return len >= below && !strcmp(name + len - below, rule->name) &&
           (len == below || name[len - below - 1] == '.');
}

bool network_proxy_is_for(const struct network_proxy *proxy, const char *name, uint16_t port)
{
    bool direct = proxy->direct.mode == NETWORK_FULL;

    for (size_t i = 0; i < proxy->direct.n_rules; i++)
        direct |= is_direct(&proxy->direct.rules[i], name, port);
    return proxy->host[0] && !direct;
}

int network_proxy_add_direct(struct network_proxy *proxy, const char *word, sbr_error *err)
{
    struct host_rule rule;
    sbr_error ignored;

    if (!strcmp(word, "*")) {
        proxy->direct.mode = NETWORK_FULL;
        return 0;
    }
    word += *word == '*';
    word += *word == '.';
    if (host_rule_parse(word, &rule, &ignored) < 0)
        return 0;
    return network_add_rule(&proxy->direct, &rule, err);
}

void network_proxy_encode(const struct network_proxy *proxy, struct buf *out)
{
    buf_put_string(out, proxy->host);
    buf_put_u32(out, proxy->port);
    network_encode(&proxy->direct, out);
}

int network_proxy_decode(struct buf_reader *in, struct network_proxy *ret, sbr_error *err)
{
    const char *host = buf_reader_string(in);
    uint32_t port = buf_reader_u32(in);

    *ret = (struct network_proxy){ 0 };
    if (in->failed || port > UINT16_MAX || (host && strlen(host) >= sizeof(ret->host)))
        return err_set(err, SBR_E_INVALID, "network", "the address of the proxy is damaged");
    if (host)
        memcpy(ret->host, host, strlen(host) + 1);
    ret->port = (uint16_t)port;
    return network_decode(in, &ret->direct, err);
}

void network_proxy_done(struct network_proxy *proxy)
{
    network_done(&proxy->direct);
    *proxy = (struct network_proxy){ 0 };
}
