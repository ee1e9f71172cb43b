#include "secrets/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#define READ_BUFFER (64 << 10)

/* The program's client names the host that it wants: it must be the one that is dialled. */
static int check_name(SSL *ssl, int *alert, void *unused)
{
    struct tls_asked *wanted = SSL_get_app_data(ssl);
    const char *asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    char name[HOSTNAME_SIZE];

    (void)unused;
    wanted->known = true;
    if (!asked || (hostname_canonical(asked, strlen(asked), name) && !strcmp(name, wanted->name)))
        return SSL_TLSEXT_ERR_OK;
    wanted->other = true;
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

#define HTTP1 "\x08http/1.1"
#define HTTP2 "\x02h2"

static bool choose(const char *ours, const unsigned char **ret, unsigned char *ret_len,
                   const unsigned char *offered, unsigned int len)
{
    unsigned char *chosen;

    if (SSL_select_next_proto(&chosen, ret_len, (const unsigned char *)ours,
                              (unsigned int)strlen(ours), offered, len) != OPENSSL_NPN_NEGOTIATED)
        return false;
    *ret = chosen;
    return true;
}

/* Requests of HTTP/1.1 are simpler to look through, so HTTP/2 is for those that insist on it. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
                           const unsigned char *offered, unsigned int len, void *unused)
{
    struct tls_asked *asked = SSL_get_app_data(ssl);

    (void)unused;
    if (choose(HTTP1, ret, ret_len, offered, len))
        return SSL_TLSEXT_ERR_OK;
    asked->http2 = choose(HTTP2, ret, ret_len, offered, len);
    return asked->http2 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

int tls_prepare(struct helper *helper, sbr_error *err)
{
    const long mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;
    SSL_CTX **const contexts[] = { &helper->inside, &helper->outside };

    helper->inside = SSL_CTX_new(TLS_server_method());
    helper->outside = SSL_CTX_new(TLS_client_method());
    if (!helper->inside || !helper->outside ||
        !SSL_CTX_set_min_proto_version(helper->inside, TLS1_2_VERSION) ||
        !SSL_CTX_set_min_proto_version(helper->outside, TLS1_2_VERSION) ||
        !SSL_CTX_use_PrivateKey(helper->inside, helper->authority.leaf_key))
        return err_set(err, SBR_E_SYSTEM, "secrets", "cannot set TLS up");
    for (size_t i = 0; i < ARRAY_LEN(contexts); i++) {
        SSL_CTX_set_mode(*contexts[i], mode);
        SSL_CTX_set_read_ahead(*contexts[i], 1); /* a record is two reads otherwise */
        SSL_CTX_set_default_read_buffer_len(*contexts[i], READ_BUFFER);
    }
    SSL_CTX_set_options(helper->outside, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_options(helper->inside, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(helper->inside, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(helper->inside, 0);
    SSL_CTX_set_tlsext_servername_callback(helper->inside, check_name);
    SSL_CTX_set_alpn_select_cb(helper->inside, choose_protocol, NULL);
    SSL_CTX_set_verify(helper->outside, SSL_VERIFY_PEER, NULL);
    return 0;
}

void tls_trust(struct helper *helper, const char *roots, size_t len)
{
    X509_STORE *store = SSL_CTX_get_cert_store(helper->outside);
    BIO *memory = BIO_new_mem_buf(roots, (int)len);
    X509 *one;

    while (memory && (one = PEM_read_bio_X509_AUX(memory, NULL, NULL, NULL))) {
        (void)X509_STORE_add_cert(store, one);
        X509_free(one);
    }
    BIO_free(memory);
    ERR_clear_error();
}

/* For a server that asks for one. */
static bool show_certificate(SSL *ssl, const struct secret *one)
{
    BIO *memory = BIO_new_mem_buf(one->value, (int)one->len);
    X509 *leaf = memory ? PEM_read_bio_X509(memory, NULL, NULL, NULL) : NULL, *chain;
    EVP_PKEY *key = NULL;
    bool shown = leaf && SSL_use_certificate(ssl, leaf);

    while (shown && (chain = PEM_read_bio_X509(memory, NULL, NULL, NULL)))
        shown = SSL_add0_chain_cert(ssl, chain);
    BIO_free(memory);
    memory = BIO_new_mem_buf(one->value, (int)one->len);
    if (shown && memory)
        key = PEM_read_bio_PrivateKey(memory, NULL, NULL, NULL);
    shown = key && SSL_use_PrivateKey(ssl, key);
    EVP_PKEY_free(key);
    X509_free(leaf);
    BIO_free(memory);
    ERR_clear_error();
    return shown;
}

static bool show_certificates(const struct helper *helper, SSL *ssl, const char *name,
                              uint16_t port)
{
    for (size_t i = 0; i < helper->secrets.n; i++) {
        const struct secret *one = &helper->secrets.at[i];

        for (size_t k = 0; one->use == SECRET_CERTIFICATE && k < one->n_hosts; k++)
            if (network_rule_is_for(&one->hosts[k], name, port))
                return show_certificate(ssl, one);
    }
    return true;
}

SSL *tls_accept(const struct helper *helper, X509 *leaf, int fd, struct tls_asked *asked)
{
    SSL *ssl = SSL_new(helper->inside);

    if (!ssl || !SSL_set_fd(ssl, fd) || !SSL_use_certificate(ssl, leaf) ||
        !SSL_use_PrivateKey(ssl, helper->authority.leaf_key)) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_app_data(ssl, asked);
    SSL_set_accept_state(ssl);
    return ssl;
}

/* The name that is verified is the one that egress decided by. */
static bool set_name(SSL *ssl, const char *name)
{
    struct address address;

    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (address_parse(name, &address))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
    return SSL_set1_host(ssl, name) && SSL_set_tlsext_host_name(ssl, name);
}

SSL *tls_connect(const struct helper *helper, const char *name, uint16_t port, int fd, bool http2)
{
    const char *protocol = http2 ? HTTP2 : HTTP1;
    SSL *ssl = SSL_new(helper->outside);

    if (!ssl || !SSL_set_fd(ssl, fd) || !show_certificates(helper, ssl, name, port) ||
        !set_name(ssl, name) ||
        SSL_set_alpn_protos(ssl, (const unsigned char *)protocol, (unsigned int)strlen(protocol))) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_connect_state(ssl);
    return ssl;
}

bool tls_is_http2(const SSL *ssl)
{
    const unsigned char *name;
    unsigned int len;

    SSL_get0_alpn_selected(ssl, &name, &len);
    return len == 2 && !memcmp(name, "h2", 2);
}
