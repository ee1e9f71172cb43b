#include "admit/grant_check.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/policy.h"

/* Who bounds this caller, and whom it can ask for more. */
static const char *giver(const struct grant *grant)
{
    return grant->token_id[0] ? "the token" : "the operator";
}

static const char *other_token(const struct grant *grant)
{
    return grant->token_id[0] ? "; ask the operator for one that does" : "";
}

#define WORKSPACE_SHOWN_MAX 30 /* with the tenant's name in front it still is a name */

int grant_check_limit(const struct grant *grant, enum sbr_limit which, uint64_t value,
                      const char *field, struct refusal *ret)
{
    uint64_t most = grant_most(grant, which);
    char text[32];

    if (value <= most)
        return 0;
    limits_format(which, most, text, sizeof(text));
    return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_LIMITS, field, "%s allows a %s of at most %s",
                       giver(grant), limit_defs[which].option, text);
}

int grant_check_limits(const struct grant *grant, struct limits *limits, const char *field,
                       struct refusal *ret)
{
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        uint64_t most = grant_most(grant, (enum sbr_limit)i);

        if (!(limits->given >> i & 1))
            limits->value[i] = limits->value[i] > most ? most : limits->value[i];
        else if (grant_check_limit(grant, (enum sbr_limit)i, limits->value[i], field, ret) < 0)
            return -1;
    }
    return 0;
}

void grant_give_ceilings(const struct grant *grant, struct limits *limits)
{
    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (limits->value[i] >= grant_most(grant, (enum sbr_limit)i)) {
            limits->value[i] = grant_most(grant, (enum sbr_limit)i);
            limits->given |= (grant->ceilings.given & 1u << i);
        }
}

void grant_give_limits(const struct grant *grant, sbr_request *req)
{
    grant_give_ceilings(grant, &req->limits);
    req->ceilings = grant->ceilings;
}

/* Loopback, private and link-local addresses, and the name of the first. */
static bool is_special(const struct host_rule *rule)
{
    return network_rule_is_loopback(rule) || rule->anywhere ||
           (rule->kind == HOST_NETWORK &&
            address_range_class(&rule->network, rule->prefix) != ADDRESS_PUBLIC);
}

static bool has_rule_for(const struct network *network, const struct host_rule *rule)
{
    for (size_t i = 0; i < network->n_rules; i++)
        if (config_rule_covers(&network->rules[i], rule))
            return true;
    return false;
}

static bool operator_names(const struct grant *grant, const struct config *config,
                           const struct host_rule *rule)
{
    return (config && has_rule_for(&config->network, rule)) || grant_names_host(grant, rule);
}

/* What the grant's rules do not name is closed. */
static bool is_listed(const struct grant *grant)
{
    return grant->hosts[0] || (grant->own && grant->network < NETWORK_FULL);
}

int grant_check_host(const struct grant *grant, const struct config *config,
                     const struct host_rule *rule, struct refusal *ret)
{
    if (grant->local)
        return 0;
    if (is_listed(grant) && !grant_names_host(grant, rule))
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_HOSTS, "allow_hosts",
                           "%s does not allow the host %.100s%s", giver(grant), rule->text,
                           other_token(grant));
    if (is_special(rule) && !operator_names(grant, config, rule))
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_ADDRESSES, "allow_hosts",
                           "%.100s is an address of this machine or of its own network, which only "
                           "a rule of the operator's opens, by `token create --allow-host` or the "
                           "configuration",
                           rule->text);
    return 0;
}

int grant_check_network(const struct grant *grant, const struct config *config,
                        struct network *network, struct refusal *ret)
{
    if (network->mode > grant->network)
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_NETWORK, "network",
                           "%s allows the network `%s` at most", giver(grant),
                           network_mode_name(grant_widest(grant)));
    if (grant->hosts[0] && (network->mode > NETWORK_ALLOW || network->allow_dns))
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_HOSTS, "network",
                           "%s allows some hosts only; name those with `allow_hosts`",
                           giver(grant));
    for (size_t i = 0; i < network->n_rules; i++) {
        struct host_rule *rule = &network->rules[i];

        if (grant_check_host(grant, config, rule, ret) < 0)
            return -1;
        /* The way out knows this machine's own addresses; an address among them is none that a
         * caller may open. */
        rule->only_public = !operator_names(grant, config, rule);
    }
    return 0;
}

/* The network of the policy becomes the request's own. */
static int take_policy(sbr_request *req, sbr_error *err)
{
    const struct policy *policy;

    if (policy_resolve(req->policy ? req->policy : "default", &policy, err) < 0)
        return err->code;
    for (size_t i = 0; i < policy->n_allow_hosts; i++) {
        struct host_rule rule;

        if (host_rule_parse(policy->allow_hosts[i], &rule, err) < 0 ||
            network_add_rule(&req->network, &rule, err) < 0)
            return err->code;
    }
    req->network.mode = policy->network;
    req->network.allow_dns = policy->allow_dns;
    return 0;
}

/* The hosts of the grant that the operator's network reaches: with mode `full`, all of them. */
static int take_hosts(const struct grant *grant, const struct network *operators,
                      struct network *ret, sbr_error *err)
{
    scoped_free char *all = strdup(grant->hosts);
    char *rest = NULL;

    if (!all)
        return err_set_oom(err, "request");
    for (char *word = strtok_r(all, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        struct host_rule rule;

        if (host_rule_parse(word, &rule, err) < 0)
            return err->code;
        if ((operators->mode == NETWORK_FULL || has_rule_for(operators, &rule)) &&
            !has_rule_for(ret, &rule) && network_add_rule(ret, &rule, err) < 0)
            return err->code;
    }
    return 0;
}

/* Of the operator's rules those that the grant has, and of the grant's those that the operator has:
 * either may be the narrower one. */
static int meet_rules(const struct grant *grant, const struct network *operators,
                      struct network *ret, sbr_error *err)
{
    bool listed = is_listed(grant);

    for (size_t i = 0; i < operators->n_rules; i++)
        if ((!listed || grant_names_host(grant, &operators->rules[i])) &&
            network_add_rule(ret, &operators->rules[i], err) < 0)
            return err->code;
    return listed ? take_hosts(grant, operators, ret, err) : 0;
}

/* Keeps of the operator's network what the grant has, too. */
static int narrow(const struct grant *grant, sbr_request *req, sbr_error *err)
{
    struct network operators = req->network;
    struct network *network = &req->network;
    bool listed = is_listed(grant);
    enum network_mode most =
        listed && operators.mode == NETWORK_FULL ? NETWORK_ALLOW : NETWORK_FULL;
    int r = 0;

    most = grant->network < most ? grant->network : most;
    *network = (struct network){ .mode = operators.mode > most ? most : operators.mode };
    if (network_goes_outside(network->mode)) {
        network->allow_dns = operators.allow_dns && !listed;
        r = meet_rules(grant, &operators, network, err);
    }
    network_done(&operators);
    return r;
}

static int bind_network(const struct grant *grant, const struct config *config, bool asked,
                        sbr_request *req, struct refusal *ret)
{
    if (grant->local)
        return 0;
    if (asked)
        return grant_check_network(grant, config, &req->network, ret);
    if (!request_has_network(req) && take_policy(req, &ret->err) < 0)
        return -1;
    if (!request_has_network(req) && req->network.mode == NETWORK_NONE)
        return 0; /* neither the request nor its policy opens one */
    if (narrow(grant, req, &ret->err) < 0)
        return -1;
    req->network_given = true;
    req->network_asked = req->network.mode;
    return 0;
}

int grant_check_language(const struct grant *grant, const char *language, struct refusal *ret)
{
    if (grant_has_language(grant, language))
        return 0;
    return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_LANGUAGES, "language",
                       "%s does not allow this language%s; it allows %.150s", giver(grant),
                       other_token(grant), grant->languages);
}

/* A command may be any program of a language's tools, and so any language.  A request with neither
 * finds its language by its files, and the job looks again. */
static int check_languages(const struct grant *grant, sbr_request *req, struct refusal *ret)
{
    bool command = req->command || (!req->language && req->args.n);

    if ((req->language && grant_check_language(grant, req->language, ret) < 0) ||
        (command && grant_check_language(grant, "command", ret) < 0))
        return -1;
    return !grant->languages[0] ||
                   request_set_text(&req->only_languages, grant->languages, &ret->err) == 0
               ? 0
               : -1;
}

static int check_packages(const struct grant *grant, sbr_request *req, struct refusal *ret)
{
    req->installs_nothing |= !grant->packages;
    if (!req->deps.n || grant->packages)
        return 0;
    return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_PACKAGES, "deps",
                       "%s lets no packages be installed%s", giver(grant),
                       grant->token_id[0] ? "; the operator can give one with --packages"
                                          : " (--no-packages)");
}

static int check_image(const struct grant *grant, const sbr_request *req, struct refusal *ret)
{
    if (!req->image || grant_has_image(grant, req->image))
        return 0;
    return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_IMAGES, "image",
                       "%s does not allow this image; it allows %.150s", giver(grant),
                       grant->images);
}

int grant_check_names(const struct grant *grant, sbr_request *req, struct refusal *ret)
{
    return check_packages(grant, req, ret) < 0 || check_image(grant, req, ret) < 0 ? -1 : 0;
}

/* Every policy that ships allows less than the default, and the operator's own holds for all. */
static int check_policy(const struct grant *grant, const struct config *config,
                        const sbr_request *req, struct refusal *ret)
{
    if (grant->local || !req->policy || config->from[CONFIG_POLICY].origin == CONFIG_BY_DEFAULT ||
        !strcmp(config->policy, "default") || !strcmp(req->policy, config->policy))
        return 0;
    return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_POLICY, "policy",
                       "the operator has chosen the policy for all runs; leave `policy` out");
}

static bool has_host_trees(const sbr_request *req)
{
    return req->project || req->n_volumes || req->workspace;
}

static int check_scope(const struct grant *grant, const sbr_request *req, struct refusal *ret)
{
    if (grant->scopes & SCOPE_FILES || !has_host_trees(req))
        return 0;
    return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_SCOPE,
                       req->workspace ? "workspace" : "project",
                       "the token allows neither workspaces nor roots; it needs the scope `files`");
}

/* Names of workspaces belong to their tenant. */
static int own_workspace(const struct grant *grant, sbr_request *req, struct refusal *ret)
{
    scoped_free char *name = NULL;

    if (!req->workspace || grant->local)
        return 0;
    if (strlen(req->workspace) > WORKSPACE_SHOWN_MAX)
        return refusal_set(ret, REFUSED_WRONG, BOUND_NONE, "workspace",
                           "the name of a workspace has at most %d bytes over HTTP",
                           WORKSPACE_SHOWN_MAX);
    name = text_format("%s.%s", grant->name, req->workspace);
    if (!name)
        return err_set_oom(&ret->err, "request");
    return request_set_text(&req->workspace, name, &ret->err) < 0 ? -1 : 0;
}

/* What the request names is the operator's, with its hosts: those it reaches, whatever else. */
static int check_secrets(const struct grant *grant, const sbr_request *req, struct refusal *ret)
{
    for (size_t i = 0; !grant->local && i < req->secrets.n; i++)
        if (!text_list_has(grant->secrets, req->secrets.at[i].name))
            return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_HOSTS, "secrets",
                               "the token does not allow the secret '%s'; the operator can give "
                               "one with --secret",
                               req->secrets.at[i].name);
    return 0;
}

/* Where nothing else of the request reaches outside, the hosts of its secrets still do. */
static void open_for_secrets(bool asked, sbr_request *req)
{
    if (asked || !req->secrets.n || network_goes_outside(req->network.mode))
        return;
    req->network.mode = req->network_asked = NETWORK_ALLOW;
    req->network_given = true;
}

int grant_check(const struct grant *grant, const struct config *config, sbr_request *req,
                struct refusal *ret)
{
    bool asked = request_has_network(req);

    if (check_languages(grant, req, ret) < 0 || grant_check_names(grant, req, ret) < 0 ||
        check_secrets(grant, req, ret) < 0 || check_policy(grant, config, req, ret) < 0 ||
        check_scope(grant, req, ret) < 0 || own_workspace(grant, req, ret) < 0 ||
        grant_check_limits(grant, &req->compile_limits, "compile_limits", ret) < 0 ||
        grant_check_limits(grant, &req->limits, "limits", ret) < 0)
        return -1;
    if (config_apply(config, req, &ret->err) < 0)
        return -1;
    limits_lower(&req->limits, &grant->ceilings);
    if (bind_network(grant, config, asked, req, ret) < 0)
        return -1;
    open_for_secrets(asked, req);
    req->ceilings = grant->ceilings;
    return request_set_caller(req, grant->name, &ret->err) < 0 ? -1 : 0;
}
