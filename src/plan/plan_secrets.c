#include "plan/plan_root.h"

#include <string.h>

#define BUNDLE "etc/ssl/certs/ca-certificates.crt"
#define CERTIFICATE "etc/ssl/certs/sandbox-run.pem"
#define JAVA_STORE "etc/ssl/certs/java/cacerts"
#define NOT_DRAWN "(placeholder)" /* of a plan that is only shown */

/* Each client has a variable of its own.  All name the whole bundle, but for Node, which adds what
 * it finds there to its own. */
static const char *const trust_env[] = {
    "SSL_CERT_FILE=/" BUNDLE,        "REQUESTS_CA_BUNDLE=/" BUNDLE,
    "CURL_CA_BUNDLE=/" BUNDLE,       "GIT_SSL_CAINFO=/" BUNDLE,
    "CARGO_HTTP_CAINFO=/" BUNDLE,    "PIP_CERT=/" BUNDLE,
    "AWS_CA_BUNDLE=/" BUNDLE,        "DENO_CERT=/" BUNDLE,
    "PERL_LWP_SSL_CA_FILE=/" BUNDLE, "NODE_EXTRA_CA_CERTS=/" CERTIFICATE,
};

/* Where other systems than Debian have the bundle. */
static const struct plan_op links[] = {
    { .kind = OP_DIR, .to = "etc/pki/tls/certs", .mode = 0755 },
    { .kind = OP_SYMLINK, .from = "/" BUNDLE, .to = "etc/pki/tls/certs/ca-bundle.crt" },
    { .kind = OP_SYMLINK, .from = "/" BUNDLE, .to = "etc/ssl/cert.pem" },
};

static bool has_secrets(const struct plan_input *in)
{
    return in->secrets && secrets_are_given(in->secrets);
}

static int parse_proxy(const struct secret_proxy *from, struct network_proxy *ret, sbr_error *err)
{
    memcpy(ret->host, from->host, sizeof(ret->host));
    ret->port = from->port;
    for (size_t i = 0; i < from->direct.n; i++)
        if (network_proxy_add_direct(ret, from->direct.items[i], err) < 0)
            return err->code;
    return 0;
}

static int add_proxy(struct plan *plan, const struct secret_proxy *from, sbr_error *err)
{
    struct network_proxy proxy = { 0 };
    int r = parse_proxy(from, &proxy, err);
    size_t size = proxy.direct.n_rules * sizeof(*proxy.direct.rules);
    struct host_rule *rules = r == 0 && size ? plan_alloc(plan, size) : NULL;

    if (r == 0 && size && !rules)
        r = err_set_oom(err, "plan");
    if (rules)
        memcpy(rules, proxy.direct.rules, size);
    plan->proxy = proxy;
    plan->proxy.direct.rules = rules;
    network_proxy_done(&proxy);
    return r;
}

/* A copy of the rules, because those of a request are borrowed. */
static int add_hosts(struct plan *plan, const struct secrets *secrets, sbr_error *err)
{
    struct host_rule *rules, *handed;
    size_t n = plan->egress.n_rules, n_handed = 0;

    for (size_t i = 0; i < secrets->n; i++)
        n_handed += secrets->at[i].n_hosts;
    if (n + n_handed > NETWORK_MAX_RULES)
        return err_set(err, SBR_E_INVALID, "network",
                       "more than %d hosts are allowed, with those of the secrets",
                       NETWORK_MAX_RULES);
    rules = plan_alloc(plan, (n + n_handed + 1) * sizeof(*rules));
    if (!rules)
        return err_set_oom(err, "plan");
    if (n)
        memcpy(rules, plan->egress.rules, n * sizeof(*rules));
    handed = rules + n;
    for (size_t i = 0, at = 0; i < secrets->n; i++)
        for (size_t k = 0; k < secrets->at[i].n_hosts; k++)
            handed[at++] = secrets->at[i].hosts[k];
    plan->egress.rules = rules;
    plan->egress.n_rules = n + n_handed;
    plan->handed = (struct network){ .rules = handed, .n_rules = n_handed };
    return 0;
}

int plan_secrets_network(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const sbr_request *req = in->request;

    if (!has_secrets(in))
        return 0;
    if (in->stage == STAGE_RUN && req->network_given && !network_goes_outside(plan->egress.mode))
        return err_set(err, SBR_E_INVALID, "network",
                       "the secret '%s' is for hosts that %s %s does not reach; leave one of them "
                       "out",
                       in->secrets->n ? in->secrets->at[0].name : "",
                       request_word(req, CALLED_NETWORK), network_mode_name(plan->egress.mode));
    if (!network_goes_outside(plan->egress.mode))
        plan->egress.mode = NETWORK_ALLOW;
    plan->has_secrets = true;
    if (add_proxy(plan, &in->secrets->proxy, err) < 0)
        return err->code;
    return add_hosts(plan, in->secrets, err);
}

bool plan_secrets_replace(const struct plan *plan, const char *path)
{
    static const char certificates[] = "/etc/ssl/certs";

    return plan->has_secrets && !strncmp(path, certificates, strlen(certificates));
}

static int add_file(struct plan *plan, const struct plan_input *in, const char *to,
                    const struct plan_text *text, sbr_error *err)
{
    const struct plan_op op = { .kind = OP_FILE,
                                .flags = in->image ? OP_OVER : 0,
                                .to = to,
                                .mode = 0444,
                                .data = text->data ? text->data : "",
                                .len = text->len };

    return plan_add_op(plan, op, err);
}

int plan_secrets_root(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    static const struct plan_trust none;
    const struct plan_trust *trust = in->trust ? in->trust : &none;

    if (!has_secrets(in))
        return 0;
    if (add_file(plan, in, BUNDLE, &trust->bundle, err) < 0 ||
        add_file(plan, in, CERTIFICATE, &trust->certificate, err) < 0 ||
        (trust->java.len && add_file(plan, in, JAVA_STORE, &trust->java, err) < 0))
        return err->code;
    for (size_t i = 0; !in->image && i < ARRAY_LEN(links); i++)
        if (plan_add_op(plan, links[i], err) < 0)
            return err->code;
    return 0;
}

int plan_secrets_env(struct plan *plan, const struct plan_input *in,
                     const char *ret[PLAN_SECRETS_ENV_MAX], sbr_error *err)
{
    size_t n = 0;

    _Static_assert(ARRAY_LEN(trust_env) + SECRETS_MAX <= PLAN_SECRETS_ENV_MAX, "all have a place");
    if (!has_secrets(in))
        return 0;
    for (; n < ARRAY_LEN(trust_env); n++)
        ret[n] = trust_env[n];
    for (size_t i = 0; i < in->secrets->n; i++) {
        const struct secret *one = &in->secrets->at[i];

        if (one->use != SECRET_PLACEHOLDER)
            continue;
        ret[n] =
            plan_printf(plan, "%s=%s", one->name, one->placeholder ? one->placeholder : NOT_DRAWN);
        if (!ret[n++])
            return err_set_oom(err, "plan");
    }
    return (int)n;
}
