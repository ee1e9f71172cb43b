#include "secrets/authority.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define DAY 86400
#define VALID_DAYS 397 /* clients refuse certificates that are valid for longer */
#define CONSTRAINTS_MAX (64 << 10)

static int failed(const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_SYSTEM, "secrets", "cannot make %s for this run", what);
}

static bool add_extension(X509 *to, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;
    bool added;

    X509V3_set_ctx(&context, issuer, to, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    added = extension && X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

/* What both kinds of certificates have. */
static X509 *begin(EVP_PKEY *key, const char *subject, X509_NAME *issuer)
{
    X509 *one = X509_new();
    BIGNUM *number = BN_new();
    X509_NAME *name = one ? X509_get_subject_name(one) : NULL;
    bool made = one && number && X509_set_version(one, X509_VERSION_3) &&
                BN_rand(number, 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
                BN_to_ASN1_INTEGER(number, X509_get_serialNumber(one)) &&
                X509_gmtime_adj(X509_getm_notBefore(one), -DAY) &&
                X509_gmtime_adj(X509_getm_notAfter(one), (long)(VALID_DAYS - 1) * DAY) &&
                X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC,
                                           (const unsigned char *)subject, -1, -1, 0) &&
                X509_set_issuer_name(one, issuer ? issuer : name) && X509_set_pubkey(one, key);

    BN_free(number);
    if (made)
        return one;
    X509_free(one);
    return NULL;
}

static void put_address(const struct address *address, struct buf *out)
{
    char text[ADDRESS_TEXT_SIZE];

    buf_printf(out, "permitted;IP:%s/%s,", address_format(address, text),
               address_is_v4(address) ? "255.255.255.255"
                                      : "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

/* A type of name of which nothing is permitted by name is excluded as a whole. */
static void put_constraints(const struct secrets *secrets, struct buf *out)
{
    bool has_address = false;
    struct address loopback[2];

    buf_add_text(out, "critical,permitted;DNS:sandbox-run.invalid,");
    for (size_t i = 0; i < secrets->n; i++)
        for (size_t k = 0; k < secrets->at[i].n_hosts; k++) {
            const struct host_rule *rule = &secrets->at[i].hosts[k];

            if (rule->kind != HOST_NETWORK)
                buf_printf(out, "permitted;DNS:%s,", rule->name);
            else
                put_address(&rule->network, out);
            if (rule->kind == HOST_NAME && network_rule_is_loopback(rule)) {
                address_parse("127.0.0.1", &loopback[0]);
                address_parse("::1", &loopback[1]);
                put_address(&loopback[0], out);
                put_address(&loopback[1], out);
                has_address = true;
            }
            has_address |= rule->kind == HOST_NETWORK;
        }
    if (has_address)
        out->data[--out->len] = '\0'; /* the last comma */
    else
        buf_add_text(out,
                     "excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0");
}

static X509 *make_root(EVP_PKEY *key, const struct secrets *secrets)
{
    X509 *root = begin(key, "sandbox-run: this run only", NULL);
    struct buf names;
    bool made;

    buf_init(&names, CONSTRAINTS_MAX);
    put_constraints(secrets, &names);
    made = root && !names.failed &&
           add_extension(root, root, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(root, root, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_extension(root, root, NID_ext_key_usage, "serverAuth") &&
           add_extension(root, root, NID_subject_key_identifier, "hash") &&
           add_extension(root, root, NID_name_constraints, names.data) &&
           X509_sign(root, key, EVP_sha256());
    buf_done(&names);
    if (made)
        return root;
    X509_free(root);
    return NULL;
}

int authority_make(struct authority *authority, const struct secrets *secrets, sbr_error *err)
{
    authority->key = EVP_EC_gen("P-256");
    authority->leaf_key = EVP_EC_gen("P-256");
    if (!authority->key || !authority->leaf_key)
        return failed("keys", err);
    authority->certificate = make_root(authority->key, secrets);
    return authority->certificate ? 0 : failed("a certificate authority", err);
}

X509 *authority_sign(const struct authority *authority, const char *name)
{
    X509 *root = authority->certificate;
    X509 *leaf = begin(authority->leaf_key, "sandbox-run", X509_get_subject_name(root));
    char names[HOSTNAME_SIZE + 64];
    struct address address;
    bool made;

    snprintf(names, sizeof(names), address_parse(name, &address) ? "IP:%s" : "DNS:%s%s", name,
             strcmp(name, "localhost") != 0 ? "" : ",IP:127.0.0.1,IP:::1");
    made = leaf && add_extension(leaf, root, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(leaf, root, NID_key_usage, "critical,digitalSignature") &&
           add_extension(leaf, root, NID_ext_key_usage, "serverAuth") &&
           add_extension(leaf, root, NID_subject_alt_name, names) &&
           add_extension(leaf, root, NID_subject_key_identifier, "hash") &&
           add_extension(leaf, root, NID_authority_key_identifier, "keyid") &&
           X509_sign(leaf, authority->key, EVP_sha256());
    if (made)
        return leaf;
    X509_free(leaf);
    return NULL;
}

void authority_put_pem(const struct authority *authority, struct buf *out)
{
    BIO *memory = BIO_new(BIO_s_mem());
    char *data;
    long len;

    if (!memory || !PEM_write_bio_X509(memory, authority->certificate) ||
        (len = BIO_get_mem_data(memory, &data)) <= 0)
        out->failed = true;
    else
        buf_add(out, data, (size_t)len);
    BIO_free(memory);
}

static void put_number(struct buf *out, uint64_t value, unsigned int bytes)
{
    while (bytes-- > 0) {
        char byte = (char)(value >> (8 * bytes));

        buf_add(out, &byte, 1);
    }
}

static void put_words(struct buf *out, const char *text)
{
    put_number(out, strlen(text), 2);
    buf_add_text(out, text);
}

/* An entry of a "JKS" store: a trusted certificate. */
static void put_entry(struct buf *out, unsigned int number, const void *der, size_t len)
{
    char alias[32];

    snprintf(alias, sizeof(alias), "root-%u", number);
    put_number(out, 2, 4);
    put_words(out, alias);
    put_number(out, (uint64_t)time(NULL) * 1000, 8);
    put_words(out, "X.509");
    put_number(out, len, 4);
    buf_add(out, der, len);
}

static unsigned int put_roots(struct buf *out, const char *roots, size_t len)
{
    BIO *memory = BIO_new_mem_buf(roots, (int)len);
    char *name, *header;
    unsigned char *der;
    unsigned int n = 0;
    long size;

    while (memory && PEM_read_bio(memory, &name, &header, &der, &size)) {
        if (!strcmp(name, "CERTIFICATE"))
            put_entry(out, ++n, der, (size_t)size);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(der);
    }
    ERR_clear_error(); /* of the end of the text */
    BIO_free(memory);
    return n;
}

/* The sum of a store that is protected by the usual password, which protects nothing. */
static void put_sum(struct buf *out, size_t from)
{
    static const char begins[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
    unsigned char sum[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned int len = 0;

    if (!out->failed && context && EVP_DigestInit_ex(context, EVP_sha1(), NULL) &&
        EVP_DigestUpdate(context, begins, sizeof(begins) - 1) &&
        EVP_DigestUpdate(context, out->data + from, out->len - from) &&
        EVP_DigestFinal_ex(context, sum, &len))
        buf_add(out, sum, len);
    else
        out->failed = true;
    EVP_MD_CTX_free(context);
}

void authority_put_java(const struct authority *authority, const char *roots, size_t len,
                        struct buf *out)
{
    unsigned char *der = NULL;
    int size = i2d_X509(authority->certificate, &der);
    size_t from = out->len;
    unsigned int n;

    put_number(out, 0xfeedfeed, 4);
    put_number(out, 2, 4);
    put_number(out, 0, 4); /* how many there are, once they are there */
    n = put_roots(out, roots, len);
    if (size > 0)
        put_entry(out, n + 1, der, (size_t)size);
    OPENSSL_free(der);
    if (!out->failed)
        for (unsigned int i = 0; i < 4; i++)
            out->data[from + 8 + i] = (char)((n + 1) >> (24 - 8 * i));
    put_sum(out, from);
}
