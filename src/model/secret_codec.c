/* Secrets as bytes, for a socket or sealed memory. */
#include <stdlib.h>
#include <string.h>

#include "base/secret_memory.h"
#include "model/secret.h"

static void put_one(const struct secret *one, struct buf *out)
{
    struct network hosts = { .rules = one->hosts, .n_rules = one->n_hosts };

    buf_put_string(out, one->name);
    buf_put_u32(out, one->use);
    buf_put_u32(out, one->places);
    buf_put_u32(out, one->plain);
    buf_put_string(out, one->header);
    buf_put_u32(out, one->value != NULL);
    buf_put_bytes(out, one->value, one->len);
    buf_put_string(out, one->placeholder);
    network_encode(&hosts, out);
}

void secrets_encode(const struct secrets *secrets, struct buf *out)
{
    const struct secret_proxy *proxy = &secrets->proxy;

    buf_put_u32(out, (uint32_t)secrets->n);
    for (size_t i = 0; i < secrets->n; i++)
        put_one(&secrets->at[i], out);
    buf_put_string(out, proxy->host);
    buf_put_u32(out, proxy->port);
    buf_put_u32(out, proxy->credentials != NULL);
    buf_put_bytes(out, proxy->credentials, proxy->len);
    buf_put_u32(out, (uint32_t)proxy->direct.n);
    for (size_t i = 0; i < proxy->direct.n; i++)
        buf_put_string(out, proxy->direct.items[i]);
    buf_put_bytes(out, secrets->roots, secrets->roots ? secrets->roots_len : 0);
}

static void get_text(struct buf_reader *in, char *ret, size_t size)
{
    const char *text = buf_reader_string(in);

    if (in->failed || !text || strlen(text) >= size)
        in->failed = true;
    else
        memcpy(ret, text, strlen(text) + 1);
}

static char *get_value(struct buf_reader *in, size_t *ret_len)
{
    bool given = buf_reader_u32(in) != 0;
    const void *data = buf_reader_bytes(in, ret_len);
    char *value = !in->failed && given ? secret_memory_take(data, *ret_len) : NULL;

    in->failed |= given && !value;
    return value;
}

static void get_one(struct buf_reader *in, struct secret *ret)
{
    struct network hosts = { 0 };
    const char *placeholder;
    sbr_error ignored; /* in->failed says it */

    *ret = (struct secret){ 0 };
    get_text(in, ret->name, sizeof(ret->name));
    ret->use = (enum secret_use)buf_reader_u32(in);
    ret->places = buf_reader_u32(in);
    ret->plain = buf_reader_u32(in) != 0;
    get_text(in, ret->header, sizeof(ret->header));
    ret->value = get_value(in, &ret->len);
    placeholder = buf_reader_string(in);
    if (placeholder && !in->failed) {
        ret->placeholder = strdup(placeholder);
        in->failed |= !ret->placeholder || strlen(placeholder) != ret->len;
    }
    in->failed |= ret->use >= N_SECRET_USES;
    if (!in->failed && network_decode(in, &hosts, &ignored) < 0)
        in->failed = true;
    ret->hosts = hosts.rules;
    ret->n_hosts = hosts.n_rules;
}

static void get_proxy(struct buf_reader *in, struct secret_proxy *ret)
{
    sbr_error ignored;
    uint32_t n;

    get_text(in, ret->host, sizeof(ret->host));
    ret->port = (uint16_t)buf_reader_u32(in);
    ret->credentials = get_value(in, &ret->len);
    n = buf_reader_count(in);
    while (n-- && !in->failed) {
        const char *text = buf_reader_string(in);

        if (!text || string_list_add(&ret->direct, text, &ignored) < 0)
            in->failed = true;
    }
}

static void get_roots(struct buf_reader *in, struct secrets *ret)
{
    const void *data = buf_reader_bytes(in, &ret->roots_len);

    if (in->failed || !ret->roots_len)
        return;
    ret->roots = malloc(ret->roots_len + 1);
    in->failed |= !ret->roots;
    if (!ret->roots)
        return;
    memcpy(ret->roots, data, ret->roots_len);
    ret->roots[ret->roots_len] = '\0';
}

int secrets_decode(struct buf_reader *in, struct secrets *ret, sbr_error *err)
{
    struct secrets secrets = { 0 };
    uint32_t n = buf_reader_count(in);

    if (n > SECRETS_MAX)
        in->failed = true;
    secrets.at = n && !in->failed ? calloc(n, sizeof(*secrets.at)) : NULL;
    in->failed |= n && !secrets.at;
    while (secrets.n < n && !in->failed)
        get_one(in, &secrets.at[secrets.n++]);
    if (!in->failed)
        get_proxy(in, &secrets.proxy);
    if (!in->failed)
        get_roots(in, &secrets);
    if (!in->failed) {
        *ret = secrets;
        return 0;
    }
    secrets_done(&secrets);
    return err_set(err, SBR_E_INVALID, "secrets", "the secrets are damaged");
}
