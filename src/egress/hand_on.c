#include "egress/egress_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/target.h"
#include "wire/secrets.h"

#define PORT_HTTP 80

static void hand_on_lost(struct egress *egress)
{
    loop_close(&egress->events, &egress->secrets_watch);
    egress->secrets_watch.fd = -1;
}

/* The helper is ours, but it reads what hosts send: texts get their ends. */
static void take_news(struct egress *egress, struct secrets_news *news)
{
    struct denial *one = &news->denial;

    egress->secrets_cpu_us = news->cpu_us;
    if (!news->has_denial || one->kind >= N_DENIAL_KINDS)
        return;
    one->target[sizeof(one->target) - 1] = '\0';
    one->rule[sizeof(one->rule) - 1] = '\0';
    one->remedy[sizeof(one->remedy) - 1] = '\0';
    account_deny(egress, one);
}

static void secrets_say(void *context, uint32_t events)
{
    struct egress *egress = context;
    struct secrets_news news;
    ssize_t n = recv(egress->secrets_watch.fd, &news, sizeof(news), MSG_DONTWAIT);

    (void)events;
    if (n == (ssize_t)sizeof(news))
        take_news(egress, &news);
    else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        hand_on_lost(egress);
}

int hand_on_open(struct egress *egress, sbr_error *err)
{
    egress->secrets_watch =
        loop_watch_of(egress->has_secrets ? EGRESS_SECRETS : -1, secrets_say, egress);
    if (egress->has_secrets && loop_add(&egress->events, &egress->secrets_watch, EPOLLIN) < 0)
        return err_set_errno(err, "egress", "cannot watch the helper for secrets");
    return 0;
}

/* The name that the rule decided by; NULL: the rule is not for this target. */
static const char *name_by(const struct host_rule *rule, const struct target *target,
                           char text[ADDRESS_TEXT_SIZE])
{
    const char *name =
        target->entry ? target->entry->name : address_format(&target->asked.address, text);

    if (!target->host_loopback)
        return network_rule_is_for(rule, name, target->asked.port) ? name : NULL;
    if (!network_rule_is_loopback(rule) || rule->port != target->asked.port)
        return NULL;
    return rule->kind == HOST_NAME ? rule->name : address_format(&rule->network, text);
}

static bool find_way(const struct target *target, struct secrets_connection *ret)
{
    const struct network *handed = &target->egress->handed;
    char text[ADDRESS_TEXT_SIZE];

    *ret = (struct secrets_connection){ .port = target->asked.port,
                                        .way = SECRETS_END,
                                        .by_proxy = target->by_proxy };
    for (size_t i = 0; i < handed->n_rules; i++) {
        const char *name = name_by(&handed->rules[i], target, text);

        if (name) {
            snprintf(ret->name, sizeof(ret->name), "%s", name);
            return true;
        }
    }
    if (target->asked.port != PORT_HTTP && !target->by_proxy)
        return false;
    ret->way = target->asked.port == PORT_HTTP ? SECRETS_WATCH : SECRETS_PASS;
    snprintf(ret->name, sizeof(ret->name), "%s",
             target->entry ? target->entry->name : address_format(&target->asked.address, text));
    return true;
}

static void deny_lost(const struct target *target)
{
    struct denial one = { .kind = DENIAL_CONNECT, .source = DENIAL_BY_HOST };

    target_text(target, one.target);
    snprintf(one.rule, sizeof(one.rule), DENIAL_HOST_RULE " the helper for secrets has ended");
    account_deny(target->egress, &one);
}

bool hand_on_give(const struct target *target, int *inside)
{
    struct egress *egress = target->egress;
    struct secrets_connection connection;
    int pair[2];

    if (!egress->has_secrets || !find_way(target, &connection))
        return true;
    if (egress->secrets_watch.fd < 0) {
        deny_lost(target);
        return false;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    if (fd_send(egress->secrets_watch.fd, &connection, sizeof(connection),
                (int[]){ *inside, pair[1] }, 2) < 0) {
        close(pair[0]);
        close(pair[1]);
        return false;
    }
    close(pair[1]);
    close(*inside);
    *inside = pair[0];
    return true;
}
