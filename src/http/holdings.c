#include "http/holdings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "changes/state_dir.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/token.h"
#include "job/engine_socket.h"
#include "session/session_memory.h"

#define AGENTS_MAX 256
#define SHARE_PERCENT 50

/* A session of a tenant. */
struct owned_session {
    struct link link;
    struct server *server;
    char own[OWNERSHIP_ID_SIZE];
    char token_id[GRANT_TOKEN_SIZE];
    struct held *held;
    bool seen, ending;
};

static bool has_engine(void)
{
    int fd;

    if (engine_connect(&fd) < 0)
        return false;
    (void)close(fd);
    return true;
}

static uint64_t disk_left(void)
{
    struct state_dir dir = { .fd = -1 };
    struct statvfs room;
    sbr_error ignored;
    uint64_t left = 0;

    if (state_open(".", true, &dir, &ignored) >= 0 && fstatvfs(dir.fd, &room) == 0)
        left = (uint64_t)room.f_bavail * room.f_frsize;
    state_close(&dir);
    return left;
}

static int memory_of(const struct config *config, uint64_t *ret, sbr_error *err)
{
    const char *text = config->user ? config->user->http.memory : NULL;
    struct sysinfo info;

    if (text && text_parse_size(text, ret) != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "config", "http.memory '%.60s' is no size such as 8g",
                       text);
    if (!text)
        *ret = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit / 10 * 9 : UINT64_MAX;
    return 0;
}

static int share_of(const struct config *config, unsigned int *ret, sbr_error *err)
{
    const char *text = config->user ? config->user->http.share : NULL;
    uint64_t percent = SHARE_PERCENT;

    if (text && (text_parse_count(text, &percent) != TEXT_OK || percent < 1 || percent > 100))
        return err_set(err, SBR_E_INVALID, "config",
                       "http.share '%.60s' is no percentage from 1 to 100", text);
    *ret = (unsigned int)percent;
    return 0;
}

int holdings_open(struct server *server, sbr_error *err)
{
    struct holdings *h = &server->holdings;
    struct ledger_bounds bounds = { .runs = server->options.running,
                                    .agents = AGENTS_MAX,
                                    .queues = has_engine,
                                    .disk_left = disk_left,
                                    .now_us = clock_now_us };
    struct refusal ignored;
    struct grant local;

    if (memory_of(&server->config, &bounds.memory, err) < 0 ||
        share_of(&server->config, &bounds.share, err) < 0)
        return err->code;
    ledger_open(&h->ledger, &bounds);
    pthread_mutex_init(&h->lock, NULL);
    grant_init_local(&local);
    if (ledger_take(&h->ledger, &local, &(struct need){ 0 }, NULL, NULL, &h->local, &ignored) < 0)
        return err_set_oom(err, "http");
    holdings_tick(server);
    return 0;
}

static void free_session(struct owned_session *s)
{
    link_remove(&s->link);
    ledger_give_back(s->held);
    free(s);
}

void holdings_close(struct server *server)
{
    list_each(at, &server->holdings.sessions)
        free_session(link_owner(at, struct owned_session, link));
}

static struct owned_session *find(const struct holdings *h, const char *own)
{
    list_each(at, (struct link *)&h->sessions) {
        struct owned_session *s = link_owner(at, struct owned_session, link);

        if (!strcmp(s->own, own))
            return s;
    }
    return NULL;
}

/* In a thread: closing waits for the session's end. */
static int close_session(struct offload *o, sbr_error *err)
{
    return sbr_session_close(o->words[0], err);
}

/* Its token is no more. */
static void stop_session(void *context)
{
    struct owned_session *s = context;
    struct offload o = { .work = close_session };

    if (s->ending)
        return;
    o.words[0] = strdup(s->own);
    s->ending = offload_start_own(s->server, &o) == 0;
}

/* With the lock. */
static struct owned_session *add(struct server *server, const char *token_id, const char *own,
                                 struct held *held)
{
    struct owned_session *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    *s = (struct owned_session){ .server = server, .held = held, .seen = true };
    snprintf(s->own, sizeof(s->own), "%s", own);
    snprintf(s->token_id, sizeof(s->token_id), "%s", token_id);
    link_init(&s->link);
    list_append(&server->holdings.sessions, &s->link);
    return s;
}

void holdings_keep_session(struct server *server, const struct grant *grant, const char *own,
                           struct held *held)
{
    struct holdings *h = &server->holdings;
    bool kept = false;

    pthread_mutex_lock(&h->lock);
    if (!grant->local && !find(h, own)) /* or the tick has found it already */
        kept = add(server, grant->token_id, own, held) != NULL;
    pthread_mutex_unlock(&h->lock);
    if (!kept)
        ledger_give_back(held);
}

void holdings_end_session(struct server *server, const char *own)
{
    struct holdings *h = &server->holdings;
    struct owned_session *s;

    pthread_mutex_lock(&h->lock);
    s = find(h, own);
    if (s)
        free_session(s);
    pthread_mutex_unlock(&h->lock);
}

/* What the looks at all notes share. */
struct look {
    struct server *server;
    uint64_t memory; /* of tenants' sessions that live */
};

/* A session that another gateway has made, or this one before it was started anew: it is there,
 * whatever the bounds say now. */
static struct owned_session *adopt(struct server *server, const struct ownership *o,
                                   uint64_t memory)
{
    struct grant grant;
    struct refusal ignored;
    struct held *held = NULL;
    json_t *facts = ownership_facts_json(o->id);
    const char *token = json_string_value(json_object_get(facts, "token"));
    struct owned_session *s = NULL;

    grant_init_local(&grant); /* nothing bounds it */
    snprintf(grant.name, sizeof(grant.name), "%s", o->tenant);
    snprintf(grant.token_id, sizeof(grant.token_id), "%.*s", GRANT_TOKEN_SIZE - 1,
             token ? token : "");
    if (ledger_take(&server->holdings.ledger, &grant, &(struct need){ .sessions = 1 }, NULL, NULL,
                    &held, &ignored) == 0) {
        ledger_set_memory(held, memory);
        s = add(server, grant.token_id, o->own, held);
        if (!s)
            ledger_give_back(held);
    }
    json_decref(facts);
    return s;
}

static void look_at(void *context, const struct ownership *o)
{
    struct look *look = context;
    struct holdings *h = &look->server->holdings;
    uint64_t memory = session_memory_of(o->own);
    struct owned_session *s;
    struct grant grant;

    if (!memory && !session_memory_is_alive(o->own)) {
        grant_init_local(&grant);
        grant.local = false;
        ownership_forget(&grant, o);
        return;
    }
    look->memory += memory;
    s = find(h, o->own);
    if (!s)
        s = adopt(look->server, o, memory);
    if (s)
        s->seen = true;
}

static void look_at_sessions(struct server *server)
{
    struct holdings *h = &server->holdings;
    struct look look = { .server = server };
    uint64_t all = session_memory_of_all();
    sbr_error ignored;

    pthread_mutex_lock(&h->lock);
    (void)!ownership_each(NULL, look_at, &look, &ignored);
    list_each(at, &h->sessions) {
        struct owned_session *s = link_owner(at, struct owned_session, link);

        if (!s->seen)
            free_session(s);
        else if (s->token_id[0] && token_is_over(server->tokens, s->token_id))
            stop_session(s);
        s->seen = false;
    }
    pthread_mutex_unlock(&h->lock);
    ledger_set_memory(h->local, all > look.memory ? all - look.memory : 0);
}

void holdings_tick(struct server *server)
{
    look_at_sessions(server);
    ledger_set_tenants(&server->holdings.ledger, token_count_tenants(server->tokens));
    ledger_end_tokens(&server->holdings.ledger, token_is_revoked, server->tokens);
}

unsigned int holdings_status_of(const struct refusal *refusal)
{
    static const unsigned int statuses[] = { [REFUSED_UNREADABLE] = HTTP_BAD_REQUEST,
                                             [REFUSED_WRONG] = HTTP_UNPROCESSABLE_CONTENT,
                                             [REFUSED_FORBIDDEN] = HTTP_FORBIDDEN,
                                             [REFUSED_FULL] = HTTP_TOO_MANY_REQUESTS };

    return refusal->kind ? statuses[refusal->kind] : problem_status_of(refusal->err.code);
}

void holdings_refuse(struct exchange *x, const struct refusal *refusal)
{
    struct problem problem = { .status = holdings_status_of(refusal),
                               .detail = refusal->err.message,
                               .field = refusal->field[0] ? refusal->field : NULL,
                               .retry_s = refusal->retry_s,
                               .position = refusal->position };

    if (problem.status == HTTP_TOO_MANY_REQUESTS && !problem.retry_s)
        problem.retry_s = 1;
    if (problem.status == HTTP_UNPROCESSABLE_CONTENT)
        problem.code = sbr_code_name(refusal->err.code);
    if (refusal->bound == BOUND_RATE)
        problem.code = "rate";
    problem_reply(x, &problem);
}

struct held *holdings_take(struct exchange *x, const struct need *need)
{
    struct refusal refusal = { 0 };
    struct held *held = NULL;

    if (ledger_take(&x->server->holdings.ledger, &x->tenant, need, NULL, NULL, &held, &refusal) < 0)
        holdings_refuse(x, &refusal);
    return held;
}
