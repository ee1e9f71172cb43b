#include "model/secret.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/secret_memory.h"

bool secrets_are_given(const struct secrets *secrets)
{
    return secrets->n > 0 || secrets->proxy.host[0];
}

static void secret_done(struct secret *one)
{
    secret_memory_free(one->value);
    free(one->placeholder);
    free(one->hosts);
    *one = (struct secret){ 0 };
}

void secrets_done(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->n; i++)
        secret_done(&secrets->at[i]);
    free(secrets->at);
    secret_memory_free(secrets->proxy.credentials);
    string_list_done(&secrets->proxy.direct);
    free(secrets->roots);
    *secrets = (struct secrets){ 0 };
}

void secrets_remove(struct secrets *secrets, size_t index)
{
    secret_done(&secrets->at[index]);
    memmove(secrets->at + index, secrets->at + index + 1,
            (--secrets->n - index) * sizeof(*secrets->at));
}

const struct secret *secrets_find(const struct secrets *secrets, const char *name)
{
    for (size_t i = 0; i < secrets->n; i++)
        if (!strcmp(secrets->at[i].name, name))
            return &secrets->at[i];
    return NULL;
}

/* A line break would end the header that the value stands in. */
static bool is_printable(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
    return true;
}

/* How much of a value only says whose it is, as "ghp_", "sk-ant-" and "AKIA" do. */
static size_t prefix_of(const char *value, size_t len)
{
    static const char *const known[] = { "AKIA", "ASIA", "AIza", "eyJ" };
    size_t kept = 0, part = 0;

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (!strncmp(value, known[i], strlen(known[i])))
            return strlen(known[i]);
    for (size_t i = 0; i < len && i < 14 && len - i > 16 && part <= 6; i++) {
        part++;
        if (value[i] == '-' || value[i] == '_') {
            kept = i + 1;
            part = 0;
        } else if (!isalnum((unsigned char)value[i])) {
            break;
        }
    }
    return kept;
}

static size_t count_drawn(const char *value, size_t len)
{
    size_t n = 0;

    for (size_t i = prefix_of(value, len); i < len; i++)
        n += isalnum((unsigned char)value[i]) != 0;
    return n;
}

static int check_value(const struct secret *one, sbr_error *err)
{
    if (one->len > SECRET_MAX_BYTES)
        return err_set(err, SBR_E_INVALID, "secrets",
                       "the value of the secret '%s' is longer than %d bytes", one->name,
                       SECRET_MAX_BYTES);
    if (one->use != SECRET_CERTIFICATE && !is_printable(one->value, one->len))
        return err_set(err, SBR_E_INVALID, "secrets",
                       "the value of the secret '%s' has a line break or another control character "
                       "in it, which no header can hold",
                       one->name);
    if (one->use == SECRET_PLACEHOLDER && count_drawn(one->value, one->len) < SECRET_MIN_BYTES)
        return err_set(err, SBR_E_INVALID, "secrets",
                       "the value of the secret '%s' has fewer than %d letters and digits, so that "
                       "its placeholder could be found by chance; use a longer one",
                       one->name, SECRET_MIN_BYTES);
    return 0;
}

static int check_hosts(const struct secret *one, sbr_error *err)
{
    if (one->n_hosts == 0 || one->n_hosts > SECRET_MAX_HOSTS)
        return err_set(err, SBR_E_INVALID, "secrets",
                       "the secret '%s' needs 1 to %d hosts, as in %s:api.example.org", one->name,
                       SECRET_MAX_HOSTS, one->name);
    for (size_t i = 0; i < one->n_hosts; i++) {
        const struct host_rule *rule = &one->hosts[i];

        if (!rule->port || (rule->kind == HOST_NETWORK && rule->prefix != 128))
            return err_set(err, SBR_E_INVALID, "secrets",
                           "the secret '%s' cannot be for '%.80s'; give names or single addresses",
                           one->name, rule->text);
    }
    return 0;
}

/* Moves `one`, which is complete, to the list. */
static int keep(struct secrets *secrets, struct secret *one, sbr_error *err)
{
    struct secret *grown;

    if (secrets->n == SECRETS_MAX)
        return err_set(err, SBR_E_INVALID, "secrets", "there are more than %d secrets",
                       SECRETS_MAX);
    grown = realloc(secrets->at, (secrets->n + 1) * sizeof(*grown));
    if (!grown)
        return err_set_oom(err, "secrets");
    secrets->at = grown;
    grown[secrets->n++] = *one;
    *one = (struct secret){ 0 };
    return 0;
}

/* A name that is not resolved yet has neither a value nor hosts. */
static int copy_one(const struct secret *from, struct secret *to, sbr_error *err)
{
    *to = *from;
    to->value = from->value ? secret_memory_take(from->value, from->len) : NULL;
    to->placeholder = from->placeholder ? strdup(from->placeholder) : NULL;
    to->hosts = from->n_hosts ? malloc(from->n_hosts * sizeof(*from->hosts)) : NULL;
    if (to->hosts)
        memcpy(to->hosts, from->hosts, from->n_hosts * sizeof(*from->hosts));
    if ((from->value && !to->value) || (from->placeholder && !to->placeholder) ||
        (from->n_hosts && !to->hosts)) {
        secret_done(to);
        return err_set_oom(err, "secrets");
    }
    return 0;
}

static int add_copy(struct secrets *secrets, const struct secret *one, sbr_error *err)
{
    struct secret copy;
    int r = copy_one(one, &copy, err);

    if (r == 0)
        r = keep(secrets, &copy, err);
    secret_done(&copy);
    return r;
}

int secrets_add(struct secrets *secrets, const struct secret *one, sbr_error *err)
{
    if (one->use == SECRET_PLACEHOLDER && secrets_find(secrets, one->name))
        return err_set(err, SBR_E_INVALID, "secrets", "the secret '%s' is given twice", one->name);
    if ((one->value || one->n_hosts) && (check_hosts(one, err) < 0 || check_value(one, err) < 0))
        return err->code;
    return add_copy(secrets, one, err);
}

int secrets_set_proxy(struct secrets *secrets, const char *host, uint16_t port,
                      const char *credentials, sbr_error *err)
{
    struct secret_proxy *proxy = &secrets->proxy;
    size_t len = credentials ? strlen(credentials) : 0;

    if (!port || strlen(host) >= sizeof(proxy->host) ||
        (credentials && !is_printable(credentials, len)))
        return err_set(err, SBR_E_INVALID, "secrets", "the proxy's address cannot be used");
    secret_memory_free(proxy->credentials);
    proxy->credentials = NULL;
    proxy->len = len;
    if (credentials && !(proxy->credentials = secret_memory_take(credentials, len)))
        return err_set_oom(err, "secrets");
    memcpy(proxy->host, host, strlen(host) + 1);
    proxy->port = port;
    return 0;
}

static int copy_proxy(struct secret_proxy *to, const struct secret_proxy *from, sbr_error *err)
{
    memcpy(to->host, from->host, sizeof(to->host));
    to->port = from->port;
    to->len = from->len;
    if (from->credentials && !(to->credentials = secret_memory_take(from->credentials, from->len)))
        return err_set_oom(err, "secrets");
    for (size_t i = 0; i < from->direct.n; i++)
        if (string_list_add(&to->direct, from->direct.items[i], err) < 0)
            return err->code;
    return 0;
}

int secrets_copy(struct secrets *to, const struct secrets *from, sbr_error *err)
{
    int r = 0;

    *to = (struct secrets){ 0 };
    for (size_t i = 0; r == 0 && i < from->n; i++)
        r = add_copy(to, &from->at[i], err);
    if (r == 0)
        r = copy_proxy(&to->proxy, &from->proxy, err);
    if (r == 0 && from->roots) {
        to->roots = malloc(from->roots_len + 1);
        if (to->roots)
            memcpy(to->roots, from->roots, from->roots_len + 1);
        to->roots_len = from->roots_len;
        r = to->roots ? 0 : err_set_oom(err, "secrets");
    }
    if (r < 0)
        secrets_done(to);
    return r;
}

int secrets_join(struct secrets *to, const struct secrets *from, sbr_error *err)
{
    for (size_t i = 0; i < from->n; i++) {
        struct secret *same = (struct secret *)secrets_find(to, from->at[i].name), copy;

        if (!same && add_copy(to, &from->at[i], err) < 0)
            return err->code;
        if (!same)
            continue;
        if (copy_one(&from->at[i], &copy, err) < 0)
            return err->code;
        secret_done(same);
        *same = copy;
    }
    return 0;
}

void secrets_wipe_values(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->n; i++) {
        secret_memory_free(secrets->at[i].value);
        secrets->at[i].value = NULL;
    }
    secret_memory_free(secrets->proxy.credentials);
    secrets->proxy.credentials = NULL;
}

static char draw_one(char was, unsigned char chance, bool hex)
{
    if (was >= '0' && was <= '9')
        return (char)('0' + chance % 10);
    if (was >= 'a' && was <= 'z')
        return (char)('a' + chance % (hex ? 6 : 26));
    if (was >= 'A' && was <= 'Z')
        return (char)('A' + chance % (hex ? 6 : 26));
    return was;
}

/* A program may check the form of a key: so each letter and digit becomes another of its kind. */
static int draw(struct secret *one, sbr_error *err)
{
    size_t kept = prefix_of(one->value, one->len);
    bool hex = strspn(one->value + kept, "0123456789abcdefABCDEF-") == one->len - kept;
    char *text = malloc(one->len + 1);

    if (!text)
        return err_set_oom(err, "secrets");
    memcpy(text, one->value, kept);
    text[one->len] = '\0';
    do
        for (size_t i = kept; i < one->len; i++) {
            unsigned char chance;

            if (getrandom(&chance, 1, 0) != 1) {
                free(text);
                return err_set_errno(err, "secrets", "cannot draw a placeholder");
            }
            text[i] = draw_one(one->value[i], chance, hex);
        }
    while (!memcmp(text, one->value, one->len));
    free(one->placeholder);
    one->placeholder = text;
    return 0;
}

int secrets_draw(struct secrets *secrets, sbr_error *err)
{
    for (size_t i = 0; i < secrets->n; i++)
        if (secrets->at[i].use == SECRET_PLACEHOLDER && secrets->at[i].value &&
            draw(&secrets->at[i], err) < 0)
            return err->code;
    return 0;
}
