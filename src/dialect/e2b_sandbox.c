#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dialect/e2b.h"
#include "http/server.h"
#include "lib/runner.h"

#define TIMEOUT_MAX_S 86400
#define ENVD_VERSION "0.6.4"

struct e2b_sandbox *e2b_find(const struct exchange *x, const char *id)
{
    list_each(at, &x->server->sandboxes) {
        struct e2b_sandbox *s = link_owner(at, struct e2b_sandbox, link);

        if (!strcmp(s->id, id) && !strcmp(s->tenant.name, x->tenant.name) && s->execution &&
            !s->killed)
            return s;
    }
    return NULL;
}

/* The token is the client's own: it sends it with every call to the sandbox. */
json_t *e2b_describe(const struct exchange *x, const struct e2b_sandbox *s)
{
    const char *token = exchange_header(x, "X-API-Key");
    json_t *answer = json_pack("{s:s, s:s, s:O, s:s, s:n}", "sandboxID", s->id, "clientID", "local",
                               "templateID", json_object_get(s->about, "templateID"), "envdVersion",
                               ENVD_VERSION, "domain");

    if (token) {
        json_object_set_new(answer, "envdAccessToken", json_string(token));
        json_object_set_new(answer, "trafficAccessToken", json_string(token));
    }
    return answer;
}

void e2b_set_timeout(struct e2b_sandbox *s, json_int_t seconds)
{
    json_int_t bounded = seconds < 1 ? 1 : seconds > TIMEOUT_MAX_S ? TIMEOUT_MAX_S : seconds;

    s->end_us = clock_read_us(CLOCK_REALTIME) + (uint64_t)bounded * 1000000;
}

void e2b_pause(struct e2b_sandbox *s)
{
    if (!s->execution || !s->execution->job || s->paused)
        return;
    s->paused = true;
    e2b_set_timeout(s, TIMEOUT_MAX_S);
    runner_freeze(s->execution->job, true);
}

void e2b_resume(struct e2b_sandbox *s, json_int_t seconds)
{
    if (!s->paused || !s->execution || !s->execution->job)
        return;
    s->paused = false;
    e2b_set_timeout(s, seconds > 0 ? seconds : E2B_TIMEOUT_S);
    runner_freeze(s->execution->job, false);
    e2b_send(s);
}

void e2b_kill(struct e2b_sandbox *s)
{
    e2b_resume(s, 1); /* what stands still takes no order to end */
    s->killed = true;
    if (!s->execution)
        return;
    execution_cancel(s->execution);
    execution_cancel(s->execution); /* at once */
}

void e2b_free(struct e2b_sandbox *s)
{
    if (s->execution)
        s->execution->ended = NULL;
    link_remove(&s->link);
    buf_done(&s->said);
    buf_done(&s->orders);
    json_decref(s->about);
    free(s);
}

void e2b_hold(struct e2b_sandbox *s, bool hold)
{
    if (s->held == hold || !s->execution || !s->execution->job)
        return;
    s->held = hold;
    (void)sbr_job_hold_output(s->execution->job, hold);
}

void e2b_send(struct e2b_sandbox *s)
{
    int64_t taken;

    if (!s->execution || !s->execution->job || !s->orders.len)
        return;
    taken = sbr_job_write_stdin(s->execution->job, s->orders.data, s->orders.len);
    buf_drop(&s->orders, taken < 0 ? s->orders.len : (size_t)taken);
}

void e2b_order(struct e2b_sandbox *s, const char *text, size_t len)
{
    if (buf_add(&s->orders, text, len) < 0)
        e2b_kill(s); /* half an order would be taken for the next one */
    else
        e2b_send(s);
}

void e2b_tick(struct server *server, uint64_t now_us)
{
    uint64_t now = clock_read_us(CLOCK_REALTIME);

    (void)now_us;
    list_each(at, &server->sandboxes) {
        struct e2b_sandbox *s = link_owner(at, struct e2b_sandbox, link);

        if (!server->ending && now <= s->end_us)
            continue;
        if (s->pauses && !s->paused && !server->ending)
            e2b_pause(s);
        else
            e2b_kill(s);
    }
}

void e2b_close(struct server *server)
{
    list_each(at, &server->sandboxes) {
        struct e2b_sandbox *s = link_owner(at, struct e2b_sandbox, link);

        s->execution = NULL; /* those are gone already */
        e2b_free(s);
    }
}

void e2b_refuse(struct exchange *x, unsigned int status, const char *message)
{
    translate_reply(x, status, json_pack("{s:i, s:s}", "code", (int)status, "message", message));
}
