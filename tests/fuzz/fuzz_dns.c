/* Queries of the program, and answers of the host's resolver.  The first byte chooses the rules. */
#include "egress/decide.h"
#include "egress/dns.h"
#include "egress/dns_upstream.h"
#include "egress/dns_wire.h"
#include "fuzz.h"

static char looked_up_name[HOSTNAME_SIZE];
static resolve_done *looked_up_done;
static const struct dns_question *forwarded;
static struct dns_question forwarded_question;

/* Nothing outside is asked: lookups are answered by the test, and what would be forwarded is looked
 * at. */
bool resolver_ask(struct resolver *resolver, const char *name, resolve_done *done, void *context)
{
    FUZZ_ASSERT(!looked_up_done && strlen(name) < HOSTNAME_SIZE);
    memcpy(looked_up_name, name, strlen(name) + 1);
    looked_up_done = done;
    return true;
}

void resolver_forget(struct resolver *resolver, const void *context)
{
}

bool dns_forward(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q)
{
    forwarded_question = *q;
    forwarded = &forwarded_question;
    return true;
}

void dns_probe(struct dns *dns, const struct dns_question *q)
{
}

void dns_forwards_tick(struct dns *dns, uint64_t now_us)
{
}

void dns_forwards_free(struct dns *dns)
{
}

static struct {
    const uint8_t *query;
    size_t len;
    const struct network *network;
    unsigned int n_answers, n_refused;
} now;

static void on_answer(void *context, const struct dns_asker *asker, const uint8_t *message,
                      size_t len)
{
    FUZZ_ASSERT(++now.n_answers == 1);
    FUZZ_ASSERT(now.len >= DNS_HEADER && len >= DNS_HEADER && len <= DNS_MAX_OWN_ANSWER);
    FUZZ_ASSERT(memcmp(message, now.query, 2) == 0);
    FUZZ_ASSERT(message[2] & 0x80 && !(now.query[2] & 0x80));
    FUZZ_ASSERT(len <= now.len + 28); /* nothing to amplify with */
    if (message[5]) {
        size_t end = DNS_HEADER;

        while (message[end])
            end += 1 + (size_t)message[end];
        end += 5;
        FUZZ_ASSERT(end <= len && end <= now.len);
        FUZZ_ASSERT(memcmp(message + DNS_HEADER, now.query + DNS_HEADER, end - DNS_HEADER) == 0);
    }
}

static void on_refused(void *context, const char *name, const struct decision *why)
{
    FUZZ_ASSERT(++now.n_refused == 1 && now.n_answers == 1);
    FUZZ_ASSERT(strlen(name) < DNS_SHOWN_SIZE && *name && why->rule[0]);
    for (; *name; name++)
        FUZZ_ASSERT(*name > ' ' && *name < 0x7f);
}

static void on_looked_up(void *context)
{
}

/* What is looked up or sent on is what the decision allows, on the same bytes. */
static void check_outside(struct dns *dns)
{
    struct resolution resolution = { .exists = true, .n_addresses = 1 };
    uint8_t message[DNS_MAX_FORWARD];

    FUZZ_ASSERT((looked_up_done != NULL) + (forwarded != NULL) + now.n_answers <= 1);
    if (forwarded) {
        FUZZ_ASSERT(forwarded->canonical && decide_name(now.network, forwarded->name).allowed);
        FUZZ_ASSERT(now.network->allow_dns || now.network->mode == NETWORK_FULL);
        FUZZ_ASSERT(dns_wire_forward(forwarded, 1, message) <= DNS_MAX_FORWARD);
    }
    if (looked_up_done) {
        FUZZ_ASSERT(decide_name(now.network, looked_up_name).allowed);
        memcpy(resolution.name, looked_up_name, sizeof(looked_up_name));
        looked_up_done(dns, &resolution);
        FUZZ_ASSERT(now.n_answers == 1);
    }
}

/* The same bytes as an answer from outside to a question of ours. */
static void check_accept(const uint8_t *data, size_t size)
{
    static const uint8_t question[] = {
        0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 16, 0, 1
    };
    uint8_t *message = malloc(size + !size);
    struct dns_question q;

    FUZZ_ASSERT(message && dns_wire_read(question, sizeof(question), &q) == DNS_NOERROR);
    if (size)
        memcpy(message, data, size);
    if (size >= 2 && dns_wire_accept(&q, (uint16_t)(message[0] << 8 | message[1]), message, size))
        FUZZ_ASSERT(message[0] == 0 && message[1] == 1 && message[2] & 0x80 &&
                    memcmp(message + DNS_HEADER, question + DNS_HEADER, q.len) == 0);
    free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = { "a", "example.org:443", "*.below.test" };
    static struct names names;
    struct network network = { .mode = NETWORK_ALLOW };
    struct dns dns = { .network = &network,
                       .names = &names,
                       .answer = on_answer,
                       .refused = on_refused,
                       .looked_up = on_looked_up };
    struct host_rule rule;
    sbr_error err;

    if (size == 0)
        return 0;
    network.mode = data[0] & 1 ? NETWORK_FULL : NETWORK_ALLOW;
    network.allow_dns = data[0] & 2;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        FUZZ_ASSERT(host_rule_parse(texts[i], &rule, &err) == 0 &&
                    network_add_rule(&network, &rule, &err) == 0);
    memset(&now, 0, sizeof(now));
    now.query = data + 1;
    now.len = size - 1;
    now.network = &network;
    looked_up_done = NULL;
    forwarded = NULL;
    dns_init(&dns);
    dns_query(&dns, &(struct dns_asker){ { 1 } }, now.query, now.len);
    check_outside(&dns);
    check_accept(now.query, now.len);
    dns_done(&dns);
    names_done(&names);
    network_done(&network);
    return 0;
}
