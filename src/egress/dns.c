#include "egress/dns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "egress/dns_upstream.h"
#include "egress/dns_wire.h"

#define MAX_PENDING 640 /* 256 threads that connect at once ask for two addresses each */
#define FRESH_US (DNS_TTL * 1000000ULL) /* a name found more recently is not looked up again */

/* Some C libraries do not accept that a resolver fails, and ask it for 5 s.  So a name that is not
 * found by then is asked for directly; queries that repeat it have the same answer for a while. */
#define PROBE_US 300000
#define FAILED_US 2000000

struct pending_query {
    bool waits;
    bool probed;
    uint64_t asked_us;
    struct dns_asker asker;
    struct dns_question question;
};

struct dns_pending {
    struct pending_query queries[MAX_PENDING];
    char failed[HOSTNAME_SIZE]; /* the last name whose probe failed */
    uint64_t failed_us;
};

/* What a type asks for. */
enum sort {
    SORT_ADDRESS,
    SORT_HINT,   /* has real addresses in it, which bypass those inside */
    SORT_RECORD, /* has none                                            */
    SORT_ACTION, /* transfers of zones, keys                            */
};

static enum sort sort_of(uint16_t type)
{
    if (type == DNS_A || type == DNS_AAAA)
        return SORT_ADDRESS;
    if (type == DNS_SVCB || type == DNS_HTTPS || type == DNS_ANY)
        return SORT_HINT;
    return type == 0 || type == DNS_OPT || (type >= DNS_TKEY && type < DNS_ANY) ? SORT_ACTION
                                                                                : SORT_RECORD;
}

static void probe_failed(struct dns *dns, const char *name);

void dns_init(struct dns *dns)
{
    dns->probe_failed = probe_failed;
    dns->pending = NULL;
    dns->forwards = NULL;
    dns->upstream_fd = -1;
    dns->due_us = UINT64_MAX;
}

void dns_done(struct dns *dns)
{
    if (dns->pending)
        resolver_forget(dns->resolver, dns);
    free(dns->pending);
    dns_forwards_free(dns);
    dns_init(dns);
}

static void reply(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q,
                  enum dns_rcode rcode)
{
    uint8_t message[DNS_MAX_OWN_ANSWER];

    dns->answer(dns->context, asker, message, dns_wire_answer(q, rcode, NULL, message));
}

static void reply_address(struct dns *dns, const struct dns_asker *asker,
                          const struct dns_question *q, const struct address *address)
{
    uint8_t message[DNS_MAX_OWN_ANSWER];

    dns->answer(dns->context, asker, message, dns_wire_answer(q, DNS_NOERROR, address, message));
}

/* The asker is answered first, so that reporting does not delay it. */
static void refuse(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q,
                   const struct decision *why)
{
    char shown[DNS_SHOWN_SIZE];

    dns_wire_show(q, shown);
    reply(dns, asker, q, DNS_REFUSED);
    dns->refused(dns->context, q->canonical ? q->name : shown, why);
}

/* Every name with an address has an IPv4 one inside: egress dials whatever it has outside. */
static void reply_found(struct dns *dns, const struct dns_asker *asker,
                        const struct dns_question *q, const struct name_entry *entry,
                        unsigned int number)
{
    bool has_v6 = false;
    struct address inside;

    for (unsigned int i = 0; i < entry->n_addresses; i++)
        has_v6 |= !address_is_v4(&entry->addresses[i]);
    if (q->type == DNS_AAAA && !has_v6) {
        reply(dns, asker, q, DNS_NOERROR);
        return;
    }
    inside = names_inside(number, q->type == DNS_AAAA);
    reply_address(dns, asker, q, &inside);
}

static void entry_store(struct name_entry *entry, const struct resolution *resolution)
{
    unsigned int n = resolution->n_addresses;

    if (n > NAME_MAX_ADDRESSES)
        n = NAME_MAX_ADDRESSES;
    memcpy(entry->addresses, resolution->addresses, n * sizeof(entry->addresses[0]));
    entry->n_addresses = n;
    entry->resolved_us = clock_now_us();
}

/* Takes the next query out, because an asker may ask again as soon as it is answered. */
static bool take_pending(struct dns_pending *pending, const char *name, struct pending_query *ret)
{
    for (size_t i = 0; i < MAX_PENDING; i++) {
        struct pending_query *one = &pending->queries[i];

        if (one->waits && strcmp(one->question.name, name) == 0) {
            one->waits = false;
            *ret = *one;
            return true;
        }
    }
    return false;
}

static void refuse_for_room(struct dns *dns, const struct dns_asker *asker,
                            const struct dns_question *q)
{
    struct decision full = { .allowed = false, .source = DENIAL_BY_LIMIT };

    snprintf(full.rule, sizeof(full.rule), "limits: names %d", NAMES_MAX);
    refuse(dns, asker, q, &full);
}

/* A name that a rule allows: the program's failure is none of the sandbox's. */
static void report_absent(struct dns *dns, const struct resolution *resolution)
{
    struct decision why = { .allowed = false, .source = DENIAL_BY_HOST };

    if (!decide_name(dns->network, resolution->name).by)
        return;
    snprintf(why.rule, sizeof(why.rule), DENIAL_HOST_RULE " this host's resolver %s",
             resolution->exists ? "failed" : "knows no such name");
    snprintf(why.remedy, sizeof(why.remedy),
             resolution->exists ? "see whether this host itself can look it up"
                                : "look for the right spelling");
    dns->refused(dns->context, resolution->name, &why);
}

/* Only a name with addresses gets an entry in the table.  An existing entry keeps its addresses
 * when this lookup found nothing, because connections may use them. */
static void looked_up(void *context, const struct resolution *resolution)
{
    struct dns *dns = context;
    unsigned int number = 0;
    bool found = resolution->n_addresses > 0;
    struct name_entry *entry = found ? names_take(dns->names, resolution->name, &number) : NULL;
    struct pending_query one;

    bool reported = false;

    if (entry)
        entry_store(entry, resolution);
    while (take_pending(dns->pending, resolution->name, &one)) {
        if (!found && !reported)
            report_absent(dns, resolution);
        reported = true;
        if (entry)
            reply_found(dns, &one.asker, &one.question, entry, number);
        else if (found)
            refuse_for_room(dns, &one.asker, &one.question);
        else
            reply(dns, &one.asker, &one.question, resolution->exists ? DNS_SERVFAIL : DNS_NXDOMAIN);
    }
}

/* Makes a query wait for its name: DNS_NOERROR when it waits now, or did already. */
static enum dns_rcode wait_for_name(struct dns *dns, const struct dns_asker *asker,
                                    const struct dns_question *q)
{
    struct pending_query *room = NULL;
    bool asked = false;

    if (!dns->pending)
        dns->pending = calloc(1, sizeof(*dns->pending));
    if (!dns->pending)
        return DNS_SERVFAIL;
    for (size_t i = 0; i < MAX_PENDING; i++) {
        struct pending_query *one = &dns->pending->queries[i];

        if (!one->waits) {
            room = room ? room : one;
            continue;
        }
        if (dns_wire_same(&one->question, q) && memcmp(&one->asker, asker, sizeof(*asker)) == 0)
            return DNS_NOERROR; /* repeated by the asker: one answer is enough */
        asked |= strcmp(one->question.name, q->name) == 0;
    }
    if (!room || (!asked && !resolver_ask(dns->resolver, q->name, looked_up, dns)))
        return DNS_SERVFAIL;
    if (!asked)
        dns->looked_up(dns->context);
    *room = (struct pending_query){
        .waits = true, .asked_us = clock_now_us(), .asker = *asker, .question = *q
    };
    if (dns->due_us > room->asked_us + PROBE_US)
        dns->due_us = room->asked_us + PROBE_US;
    return DNS_NOERROR;
}

/* Probes names that are not found for a while. */
static void probe_waiting(struct dns *dns, uint64_t now_us)
{
    dns->due_us = UINT64_MAX;
    for (size_t i = 0; dns->pending && i < MAX_PENDING; i++) {
        struct pending_query *one = &dns->pending->queries[i];
        uint64_t due_us = one->asked_us + PROBE_US;

        if (!one->waits || one->probed)
            continue;
        if (now_us < due_us) {
            dns->due_us = due_us < dns->due_us ? due_us : dns->due_us;
            continue;
        }
        one->probed = true;
        dns_probe(dns, &one->question);
    }
}

static void probe_failed(struct dns *dns, const char *name)
{
    struct resolution failed = { .exists = true };

    if (!dns->pending)
        return;
    snprintf(failed.name, sizeof(failed.name), "%s", name);
    snprintf(dns->pending->failed, sizeof(dns->pending->failed), "%s", name);
    dns->pending->failed_us = clock_now_us();
    looked_up(dns, &failed);
}

static bool failed_lately(const struct dns *dns, const char *name)
{
    const struct dns_pending *pending = dns->pending;

    return pending && !strcmp(pending->failed, name) &&
           clock_now_us() - pending->failed_us < FAILED_US;
}

static void answer_address(struct dns *dns, const struct dns_asker *asker,
                           const struct dns_question *q)
{
    unsigned int number = 0;
    bool elsewhere = dns->elsewhere && dns->elsewhere(dns->context, q->name);
    const struct name_entry *entry = elsewhere ? names_take(dns->names, q->name, &number)
                                               : names_find(dns->names, q->name, &number);

    if (elsewhere && !entry)
        refuse_for_room(dns, asker, q);
    else if (elsewhere)
        reply_found(dns, asker, q, entry, number);
    else if (entry && clock_now_us() - entry->resolved_us < FRESH_US)
        reply_found(dns, asker, q, entry, number);
    else if (failed_lately(dns, q->name) || wait_for_name(dns, asker, q) != DNS_NOERROR)
        reply(dns, asker, q, DNS_SERVFAIL);
}

/* Loopback is the sandbox's own, by any name below localhost (RFC 6761). */
static bool answer_localhost(struct dns *dns, const struct dns_asker *asker,
                             const struct dns_question *q)
{
    static const char localhost[] = ".localhost";
    size_t len = strlen(q->name), tail = sizeof(localhost) - 1;
    struct address address;

    if (strcmp(q->name, localhost + 1) != 0 &&
        (len < tail || strcmp(q->name + len - tail, localhost) != 0))
        return false;
    if (sort_of(q->type) == SORT_ADDRESS &&
        address_parse(q->type == DNS_A ? "127.0.0.1" : "::1", &address))
        reply_address(dns, asker, q, &address);
    else
        reply(dns, asker, q, DNS_NOERROR);
    return true;
}

/* Addresses that exist only inside have no names, and no server outside is asked for them. */
static bool answer_reverse(struct dns *dns, const struct dns_asker *asker,
                           const struct dns_question *q)
{
    struct address asked;

    if (q->type != DNS_PTR || !dns_wire_reverse(q->name, &asked) ||
        (!names_is_inside(&asked) && address_class(&asked) != ADDRESS_LOOPBACK))
        return false;
    reply(dns, asker, q, DNS_NXDOMAIN);
    return true;
}

/* The one name that is a request: from now on nothing is reached. */
static bool answer_close(struct dns *dns, const struct dns_asker *asker,
                         const struct dns_question *q)
{
    if (!dns->network->closes || strcmp(q->name, NETWORK_CLOSE_NAME) != 0)
        return false;
    if (!dns->network->closed)
        dns->close(dns->context);
    if (q->type == DNS_A) {
        struct address done;

        if (address_parse("127.0.0.1", &done))
            reply_address(dns, asker, q, &done);
    } else {
        reply(dns, asker, q, DNS_NOERROR);
    }
    return true;
}

/* Answers for a name that may be asked for.  `listed`: programs see it by addresses
 * inside that stand for it. */
static void answer_allowed(struct dns *dns, const struct dns_asker *asker,
                           const struct dns_question *q, bool listed)
{
    bool full = dns->network->mode == NETWORK_FULL;
    enum sort sort = sort_of(q->type);

    if (q->class != DNS_IN || sort == SORT_ACTION)
        reply(dns, asker, q, DNS_NOTIMP);
    else if (listed && sort == SORT_ADDRESS)
        answer_address(dns, asker, q);
    else if (listed && !full && (sort == SORT_HINT || !dns->network->allow_dns))
        reply(dns, asker, q, DNS_NOERROR);
    else if (dns_forward(dns, asker, q))
        dns->looked_up(dns->context);
    else
        reply(dns, asker, q, DNS_SERVFAIL);
}

/* A name that a person may allow, once a connection names the port.  Nothing outside is asked. */
static void answer_unheard(struct dns *dns, const struct dns_asker *asker,
                           const struct dns_question *q, const struct decision *decision)
{
    unsigned int number = 0;
    const struct name_entry *entry;

    if (sort_of(q->type) == SORT_HINT) {
        reply(dns, asker, q, DNS_NOERROR);
        return;
    }
    if (sort_of(q->type) != SORT_ADDRESS) {
        refuse(dns, asker, q, decision);
        return;
    }
    entry = names_take(dns->names, q->name, &number);
    if (entry)
        reply_found(dns, asker, q, entry, number);
    else
        refuse_for_room(dns, asker, q);
}

static void answer(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q)
{
    const struct network *network = dns->network;
    struct decision decision = { .allowed = false };

    if (!q->canonical) {
        snprintf(decision.rule, sizeof(decision.rule), "network: %s (not the name of a host)",
                 network_mode_name(network->mode));
        refuse(dns, asker, q, &decision);
        return;
    }
    if (answer_close(dns, asker, q) || answer_localhost(dns, asker, q) ||
        answer_reverse(dns, asker, q))
        return;
    decision = decide_name(network, q->name);
    /* --allow-dns also allows names without a rule: they get real addresses, and
     * connections still need rules. */
    if (decision.allowed)
        answer_allowed(dns, asker, q, decision.by || network->mode == NETWORK_FULL);
    else if (network->asks && network->mode == NETWORK_ALLOW && q->class == DNS_IN)
        answer_unheard(dns, asker, q, &decision);
    else
        refuse(dns, asker, q, &decision);
}

void dns_query(struct dns *dns, const struct dns_asker *asker, const uint8_t *message, size_t len)
{
    struct dns_question q;
    int rcode = dns_wire_read(message, len, &q);

    if (rcode == DNS_NOERROR)
        answer(dns, asker, &q);
    else if (rcode != DNS_NO_QUERY)
        reply(dns, asker, &q, (enum dns_rcode)rcode);
}

void dns_tick(struct dns *dns, uint64_t now_us)
{
    probe_waiting(dns, now_us);
    dns_forwards_tick(dns, now_us);
}
