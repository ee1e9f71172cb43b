#include "egress/target.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "egress/decide.h"
#include "egress/dial.h"

#define FRESH_US 30000000 /* how long a name's addresses are reused */

const char *target_text(const struct target *target, char buf[TARGET_TEXT])
{
    const struct endpoint *asked = &target->asked;
    char text[ADDRESS_TEXT_SIZE];

    if (target->entry)
        snprintf(buf, TARGET_TEXT, "%s:%u", target->entry->name, asked->port);
    else
        snprintf(buf, TARGET_TEXT, address_is_v4(&asked->address) ? "%s:%u" : "[%s]:%u",
                 address_format(&asked->address, text), asked->port);
    return buf;
}

static void deny(struct target *target, const struct decision *why)
{
    struct denial one = { .kind = DENIAL_CONNECT };

    _Static_assert(TARGET_TEXT <= sizeof(one.target), "every target fits");
    target_text(target, one.target);
    snprintf(one.rule, sizeof(one.rule), "%s", why->rule);
    snprintf(one.remedy, sizeof(one.remedy), "%s", why->remedy);
    account_deny(target->egress, &one);
}

void target_deny_proxy(const struct target *target, const char *what)
{
    const struct network_proxy *proxy = &target->egress->proxy;
    struct denial one = { .kind = DENIAL_CONNECT, .source = DENIAL_BY_HOST };

    target_text(target, one.target);
    snprintf(one.rule, sizeof(one.rule),
             strchr(proxy->host, ':') ? DENIAL_HOST_RULE " the proxy [%.80s]:%u %s"
                                      : DENIAL_HOST_RULE " the proxy %.80s:%u %s",
             proxy->host, proxy->port, what);
    snprintf(one.remedy, sizeof(one.remedy), "see whether it runs, or correct its address");
    account_deny(target->egress, &one);
}

static void dial_proxy(void *context, const struct resolution *resolution)
{
    struct target *target = context;

    target->asking = false;
    target->n = resolution->n_addresses;
    memcpy(target->addresses, resolution->addresses, target->n * sizeof(*target->addresses));
    dial_interleave(target->addresses, target->n);
    if (!target->n)
        target_deny_proxy(target, "has no address");
    target->found(target->context);
}

/* What was allowed is dialled, or else the proxy, which the supervisor has named: no rule opens it
 * to the program. */
static void go_on(struct target *target)
{
    const struct network_proxy *proxy = &target->egress->proxy;
    struct resolution literal = { .n_addresses = 1 };

    target->port = target->by_proxy ? proxy->port : target->asked.port;
    if (!target->n || !target->by_proxy) {
        target->found(target->context);
    } else if (address_parse(proxy->host, &literal.addresses[0])) {
        dial_proxy(target, &literal);
    } else {
        target->asking = true;
        if (!resolver_ask(target->egress->resolver, proxy->host, dial_proxy, target))
            dial_proxy(target, &(struct resolution){ 0 });
    }
}

static const struct network *rules_of(const struct target *target)
{
    return target->once ? &target->egress->once : &target->egress->network;
}

static bool was_refused(const struct egress *egress, const char *wanted)
{
    for (size_t i = 0; i < egress->refused.n_rules; i++)
        if (!strcmp(egress->refused.rules[i].text, wanted))
            return true;
    return false;
}

/* Two connections to one place are one question. */
static bool is_asked(const struct egress *egress, const char *wanted)
{
    list_each(at, &egress->held) {
        const struct target *other = link_owner(at, struct target, held);

        if (!strcmp(other->wanted, wanted))
            return true;
    }
    return false;
}

static bool ask(struct target *target, const char *wanted, const struct decision *why)
{
    struct denial one = { .kind = DENIAL_CONNECT };

    if (!is_asked(target->egress, wanted)) {
        target_text(target, one.target);
        snprintf(one.rule, sizeof(one.rule), "%s", why->rule);
        snprintf(one.remedy, sizeof(one.remedy), "%s", why->remedy);
        if (!account_ask(target->egress, &one))
            return false;
    }
    snprintf(target->wanted, sizeof(target->wanted), "%s", wanted);
    target->until_us = clock_now_us() + EGRESS_HOLD_SECONDS * UINT64_C(1000000);
    return true;
}

/* Refuses, or waits where a person may decide: what another rule would allow. */
static bool hold(struct target *target, const struct decision *why)
{
    static const char option[] = "--allow-host ";
    struct egress *egress = target->egress;
    const char *wanted = why->remedy + sizeof(option) - 1;

    if (!egress->network.asks || !target->is_stream || egress->ending ||
        egress->n_held == EGRESS_MAX_HELD || why->source != DENIAL_BY_RULE ||
        strncmp(why->remedy, option, sizeof(option) - 1) != 0 || was_refused(egress, wanted))
        return false;
    if (!target->until_us && !ask(target, wanted, why))
        return false;
    target->waits = true;
    list_prepend(&egress->held, &target->held);
    egress->n_held++;
    return true;
}

static void release(struct target *target)
{
    if (!target->waits)
        return;
    target->waits = false;
    link_remove(&target->held);
    target->egress->n_held--;
}

void target_again(struct target *target)
{
    release(target);
    target_find(target);
}

void target_give_up(struct target *target)
{
    struct decision why = { 0 };

    snprintf(why.rule, sizeof(why.rule), "network: %s (nobody allowed %.100s)",
             network_mode_name(target->egress->network.mode), target->wanted);
    snprintf(why.remedy, sizeof(why.remedy), "--allow-host %.260s", target->wanted);
    release(target);
    deny(target, &why);
    target->n = 0;
    target->found(target->context);
}

/* Keeps the addresses that may be dialled; exactly those are dialled. */
static void decide(struct target *target, const struct address *addresses, unsigned int n)
{
    struct egress *egress = target->egress;
    const char *name = target->entry ? target->entry->name : NULL;
    struct decision refusal = { .allowed = true };
    char text[TARGET_TEXT];

    target->n = 0;
    for (unsigned int i = 0; i < n; i++) {
        struct decision decision =
            decide_address(rules_of(target), name, &addresses[i], target->asked.port,
                           own_find(egress->own_fd, &addresses[i]));

        if (decision.allowed)
            target->addresses[target->n++] = addresses[i];
        else if (refusal.allowed)
            refusal = decision;
    }
    dial_interleave(target->addresses, target->n);
    if (target->n == 0 && !refusal.allowed) {
        if (hold(target, &refusal))
            return;
        deny(target, &refusal);
    }
    if (target->n > 0 && !account_open(egress, target_text(target, text)))
        target->n = 0;
    go_on(target);
}

/* The proxy looks the name up: what is decided on is the name, by a rule that is for it. */
static void decide_by_name(struct target *target)
{
    struct egress *egress = target->egress;
    struct decision decision =
        decide_name_at(rules_of(target), target->entry->name, target->asked.port);
    char text[TARGET_TEXT];

    if (!decision.allowed && hold(target, &decision))
        return;
    if (!decision.allowed)
        deny(target, &decision);
    target->n = decision.allowed && account_open(egress, target_text(target, text));
    go_on(target);
}

static void looked_up(void *context, const struct resolution *resolution)
{
    struct target *target = context;
    struct name_entry *entry = target->entry;

    target->asking = false;
    atomic_fetch_add(&target->egress->page->names, 1);
    if (resolution->n_addresses) { /* a failed lookup leaves what connections by the name use */
        memcpy(entry->addresses, resolution->addresses, sizeof(entry->addresses));
        entry->n_addresses = resolution->n_addresses;
        entry->resolved_us = clock_now_us();
    }
    decide(target, resolution->addresses, resolution->n_addresses);
}

/* Names get their addresses inside before anybody allowed them: nothing outside hears of one that
 * nobody allows. */
static bool is_unheard(struct target *target)
{
    const struct network *network = rules_of(target);
    struct decision decision = { 0 };

    if (!target->egress->network.asks || network->mode != NETWORK_ALLOW)
        return false;
    decision = decide_name_at(network, target->entry->name, target->asked.port);
    if (decision.allowed)
        return false;
    if (!hold(target, &decision)) {
        deny(target, &decision);
        target->found(target->context);
    }
    return true;
}

static void find_name(struct target *target)
{
    struct name_entry *entry = target->entry;

    if (is_unheard(target))
        return;
    if (entry->n_addresses && clock_now_us() - entry->resolved_us < FRESH_US) {
        decide(target, entry->addresses, entry->n_addresses);
        return;
    }
    target->asking = true;
    if (!resolver_ask(target->egress->resolver, entry->name, looked_up, target)) {
        target->asking = false;
        decide(target, NULL, 0);
    }
}

static void find_host_loopback(struct target *target)
{
    static const char *const texts[] = { "127.0.0.1", "::1" };
    struct address both[ARRAY_LEN(texts)];

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        address_parse(texts[i], &both[i]);
    decide(target, both, ARRAY_LEN(both));
}

static bool goes_by_proxy(const struct target *target)
{
    char text[ADDRESS_TEXT_SIZE];
    const char *name =
        target->entry ? target->entry->name : address_format(&target->asked.address, text);

    return target->is_stream && !target->host_loopback &&
           network_proxy_is_for(&target->egress->proxy, name, target->asked.port);
}

void target_find(struct target *target)
{
    const struct address *asked = &target->asked.address;

    target->n = 0;
    target->entry = names_of(&target->egress->names, asked);
    target->by_proxy = goes_by_proxy(target);
    if (target->host_loopback)
        find_host_loopback(target);
    else if (target->entry && target->by_proxy)
        decide_by_name(target);
    else if (target->entry)
        find_name(target);
    else
        decide(target, asked, 1); /* refuses addresses inside that stand for no name */
}

void target_forget(struct target *target)
{
    release(target);
    if (target->asking)
        resolver_forget(target->egress->resolver, target);
    target->asking = false;
}
