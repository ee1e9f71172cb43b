/* What a session is given by its user: ports that lead in, and, while it lives, hosts that it may
 * reach.  Only clients of the socket can ask, and no program in a sandbox is one
 * (connection_lines.c).  The request gets it as well, so that it holds after a restart and in a
 * copy. */
#include "session/supervisor.h"

/* The network of the request, or else of its policy, as the plan has it, becomes the request's. */
static int note_rule(struct session *s, const struct host_rule *rule, sbr_error *err)
{
    const struct network *planned = runner_network(s->job);
    struct network all = { .mode = planned->mode, .allow_dns = planned->allow_dns };

    for (size_t i = 0; i < planned->n_rules; i++)
        if (network_add_rule(&all, &planned->rules[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < s->granted.n_rules; i++)
        if (network_add_rule(&all, &s->granted.rules[i], err) < 0)
            return err->code;
    if (network_add_rule(&all, rule, err) < 0 || network_add_rule(&s->granted, rule, err) < 0)
        return err->code;
    network_done(&s->noted); /* the plan borrows only from what was there when it was made */
    s->request.network = s->noted = all;
    return 0;
}

/* A sandbox cannot be given a network: its filter and its namespace are as they were made.  So the
 * session is copied into a sandbox that is made with one.  Nothing else of the request changes. */
static void move_to_network(struct session *s, struct connection *c, const struct host_rule *rule)
{
    struct network network = { .mode = NETWORK_ALLOW };
    sbr_error err = { 0 };

    if (s->state != SESSION_READY || s->asks)
        err_set(&err, SBR_E_BUSY, "session", "a cell runs; ask again when it has ended");
    if (err.code || network_add_rule(&network, rule, &err) < 0) {
        connection_error(s, c, &err);
        return;
    }
    s->opens = &network;
    s->hooks->copy(s, c);
    s->opens = NULL;
    network_done(&network);
}

/* Only where nobody has said that there shall be none. */
static bool can_move(const struct session *s)
{
    const struct network *planned = s->job ? runner_network(s->job) : NULL;

    return planned && planned->mode == NETWORK_NONE && !s->request.network_given;
}

void session_grant_host(struct session *s, struct connection *c, bool move, const char *text)
{
    struct host_rule rule;
    sbr_error err = { 0 };

    if (move && can_move(s) && host_rule_parse(text, &rule, &err) == 0) {
        move_to_network(s, c, &rule);
        return;
    }
    if (host_rule_parse(text, &rule, &err) < 0 || runner_allow(s->job, &rule, &err) < 0 ||
        note_rule(s, &rule, &err) < 0)
        connection_error(s, c, &err);
    else
        connection_answer(s, c, json_pack("{s:s}", "allowed", rule.text));
}

json_t *session_ports(const struct session *s)
{
    const struct publish *ports = s->job ? runner_ports(s->job) : NULL;
    json_t *all;

    if (!ports || !ports->n)
        return NULL; /* as a field that is not there */
    all = json_array();
    for (size_t i = 0; i < ports->n; i++) {
        const struct publish_rule *rule = &ports->rules[i];
        json_t *addresses = json_array();

        if (rule->v4)
            json_array_append_new(addresses, json_string("127.0.0.1"));
        if (rule->v6)
            json_array_append_new(addresses, json_string("::1"));
        json_array_append_new(all, json_pack("{s:o, s:i, s:i}", "addresses", addresses, "port",
                                             rule->port, "inside", rule->inside));
    }
    return all;
}

/* A restart keeps the port that the kernel chose. */
void session_note_port(struct session *s, const sbr_event *event)
{
    struct publish *publish = &s->request.publish;

    for (size_t i = 0; i < publish->n; i++) {
        if (publish->rules[i].port == 0 && publish->rules[i].inside == event->inside_port) {
            publish->rules[i].port = (uint16_t)event->port;
            return;
        }
    }
}
