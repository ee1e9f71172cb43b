/* Each bound of tests/doors.def by each family of doors: what is at the bound passes, and what is
 * above it is refused by exactly that bound. */
#include <stdio.h>
#include <stdlib.h>

#include "admit/admit.h"
#include "admit/need.h"
#include "admit/session_facts.h"
#include "tree_fixture.h"
#include "unit.h"

#define REACHED "93.184.216.34:80"

static const char *const bound_names[] = {
#define BOUND(name, text) #name,
    BOUNDS(BOUND)
#undef BOUND
};

/* A family and a bound, as a test sees them. */
struct trial {
    struct grant grant, wide; /* the one that asks; the one that made the session */
    struct config config;
    struct ledger ledger;
    struct admit_door door;
    struct refusal refusal;
};

static uint64_t now(void)
{
    return 1000;
}

static uint64_t disk_left(void)
{
    return 10 * MIB;
}

static json_t *resolve(const void *context, const struct grant *grant, const json_t *body,
                       struct refusal *ret)
{
    (void)context;
    (void)grant;
    (void)ret;
    return json_deep_copy(body);
}

/* A token that is bounded in this only. */
static struct grant grant_of(enum bound bound)
{
    struct grant grant;
    sbr_error err;

    grant_init_token(&grant);
    snprintf(grant.name, sizeof(grant.name), "acme");
    snprintf(grant.token_id, sizeof(grant.token_id), "0123456789abcdef");
    grant.scopes = bound == BOUND_SCOPE ? SCOPE_RUN : SCOPE_ALL;
    grant.network = bound == BOUND_NETWORK ? NETWORK_ALLOW : NETWORK_FULL;
    grant.packages = bound != BOUND_PACKAGES;
    grant.concurrency = bound == BOUND_RUNS;
    grant.per_minute = bound == BOUND_RATE;
    grant.sessions = bound == BOUND_SESSIONS;
    grant.workspaces = bound == BOUND_WORKSPACES;
    grant.idle_ms = bound == BOUND_LIFE ? 60000 : 0;
    if (bound == BOUND_HOSTS)
        snprintf(grant.hosts, sizeof(grant.hosts), "93.184.216.34:443");
    if (bound == BOUND_LANGUAGES)
        snprintf(grant.languages, sizeof(grant.languages), "python");
    if (bound == BOUND_IMAGES)
        snprintf(grant.images, sizeof(grant.images), "debian:12");
    if (bound == BOUND_LIMITS)
        assert_int_equal(limits_set_pair(&grant.ceilings, "the ceiling", "memory=64m", &err), 0);
    if (bound == BOUND_CELL_TIME)
        assert_int_equal(limits_set_pair(&grant.ceilings, "the ceiling", "timeout=2s", &err), 0);
    return grant;
}

static void begin(struct trial *t, enum bound bound)
{
    const struct ledger_bounds bounds = { .runs = 8,
                                          .agents = 4,
                                          .memory = 10 * GIB,
                                          .share = 50,
                                          .disk_left = disk_left,
                                          .now_us = now };

    memset(t, 0, sizeof(*t));
    t->grant = grant_of(bound);
    t->wide = grant_of(BOUND_NONE);
    if (bound == BOUND_ADDRESSES) /* the operator opened it to that token */
        snprintf(t->wide.hosts, sizeof(t->wide.hosts), "127.0.0.1:80," REACHED);
    t->config = (struct config){ .require = TIER_CONTAINER, .policy = "default" };
    limits_init(&t->config.limits);
    limits_init(&t->config.compile_limits);
    if (bound == BOUND_POLICY) {
        snprintf(t->config.policy, sizeof(t->config.policy), "strict");
        t->config.from[CONFIG_POLICY].origin = CONFIG_BY_USER;
    }
    ledger_open(&t->ledger, &bounds);
    t->door = (struct admit_door){ &t->config, &t->ledger, resolve, NULL };
}

/* What asks for as much as the bound leaves, and for more. */
static const struct asks {
    enum bound bound;
    const char *at, *above;
} asks[] = {
    { BOUND_SCOPE, "{}", "{'workspace': 'one'}" },
    { BOUND_LIMITS, "{'limits': {'memory': '64m'}}", "{'limits': {'memory': '65m'}}" },
    { BOUND_NETWORK, "{'allow_hosts': ['" REACHED "']}", "{'network': 'full'}" },
    { BOUND_HOSTS, "{'allow_hosts': ['93.184.216.34:443']}",
      "{'allow_hosts': ['93.184.216.34:80']}" },
    { BOUND_ADDRESSES, "{'allow_hosts': ['" REACHED "']}", "{'allow_hosts': ['127.0.0.1:80']}" },
    { BOUND_LANGUAGES, "{'language': 'python'}", "{'language': 'bash'}" },
    { BOUND_PACKAGES, "{'deps': []}", "{'deps': ['six']}" },
    { BOUND_IMAGES, "{'image': 'debian:12'}", "{'image': 'debian:11'}" },
    { BOUND_ROOTS, "{}", "{'language_file': '/etc/a.yaml'}" },
    { BOUND_POLICY, "{'policy': 'strict'}", "{'policy': 'default'}" },
    { BOUND_ISOLATION, "{'require': 'container'}", "{'require': 'process'}" },
    { BOUND_WORKSPACES, "{'workspace': 'one'}", "{'workspace': 'two'}" },
};

/* One of it passes, and one more does not. */
static const struct takes {
    enum bound bound;
    struct need need;
} takes[] = {
    { BOUND_RUNS, { .runs = 1 } },       { BOUND_SESSIONS, { .sessions = 1 } },
    { BOUND_RATE, { .starts = 1 } },     { BOUND_MEMORY, { .memory = 6 * GIB } },
    { BOUND_DISK, { .disk = 6 * MIB } },
};

static json_t *body_of(const char *text)
{
    char json[256];
    json_t *body, *whole;

    snprintf(json, sizeof(json), "%s", text);
    for (char *at = json; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    body = json_loads(json, 0, NULL);
    assert_non_null(body);
    whole = json_pack("{s:s, s:s}", "language", "python", "code", "1");
    json_object_update(whole, body);
    json_decref(body);
    return whole;
}

static int ask_run(struct trial *t, const struct grant *grant, const char *text, sbr_request **ret)
{
    json_t *body = body_of(text);
    int r = admit_request(&t->door, grant, body, ret, &t->refusal);

    json_decref(body);
    return r;
}

static int try_run(struct trial *t, const struct asks *ask, const char *text)
{
    sbr_request *req = NULL;
    int r = ask_run(t, &t->grant, text, &req);

    (void)ask;
    request_free(req);
    return r;
}

/* A session that a wider token made, and this one uses. */
static int try_use(struct trial *t, const struct asks *ask, const char *text)
{
    struct session_facts facts;
    sbr_request *req = NULL;
    uint64_t ms = 0;
    json_t *value;
    sbr_error err;
    int r;

    if (ask->bound == BOUND_NETWORK)
        t->wide.network = text == ask->at ? NETWORK_ALLOW : NETWORK_FULL;
    if (ask_run(t, &t->wide, text, &req) < 0)
        fail_msg("the wide token: %s", t->refusal.err.message);
    value = session_facts_write(&t->wide, req);
    assert_int_equal(session_facts_read(value, &facts, &err), 0);
    r = admit_cell(&t->grant, &t->config, &facts, NULL, &ms, &t->refusal);
    session_facts_done(&facts);
    json_decref(value);
    request_free(req);
    return r;
}

static int fill_tool(struct trial *t, const struct grant *tools, const sbr_request *base,
                     const json_t *arguments)
{
    sbr_request *req = NULL;
    uint64_t memory =
        strstr(json_string_value(json_object_get(json_object_get(arguments, "limits"), "memory"))
                   ?: "",
               "65")
            ? 65 * MIB
            : 64 * MIB;
    int r = admit_tool_begin(base, json_string_value(json_object_get(arguments, "language")), &req,
                             &t->refusal.err);

    if (r == 0)
        r = admit_tool_limit(tools, req, SBR_MEMORY_BYTES, memory, "memory_mb", &t->refusal);
    if (r == 0)
        r = admit_tool(tools, base, arguments, req, &t->refusal);
    request_free(req);
    return r;
}

/* Arguments of a tool have its own names. */
static int try_tool(struct trial *t, const struct asks *ask, const char *text)
{
    json_t *arguments = body_of(text), *deps = json_object_get(arguments, "deps");
    const json_t *workspace = json_object_get(arguments, "workspace");
    sbr_request *base = NULL;
    struct grant tools;
    int r;

    (void)ask;
    if (deps)
        json_object_set(arguments, "packages", deps);
    r = admit_base(&t->door, &t->grant, json_string_value(workspace), &base, &t->refusal);
    if (r == 0)
        r = admit_workspace(&t->ledger, &t->grant, base, &t->refusal);
    if (r == 0) {
        grant_of_tools(&t->grant, base, &tools);
        r = fill_tool(t, &tools, base, arguments);
    }
    request_free(base);
    json_decref(arguments);
    return r;
}

static int try_own(struct trial *t, const struct asks *ask, const char *text)
{
    json_t *body = body_of(text);
    sbr_request *base = NULL;
    int r = admit_base(&t->door, &t->grant, json_string_value(json_object_get(body, "workspace")),
                       &base, &t->refusal);

    (void)ask;
    if (r == 0)
        r = admit_workspace(&t->ledger, &t->grant, base, &t->refusal);
    request_free(base);
    json_decref(body);
    return r;
}

/* Of a family that is not here src/admit sees only what it takes: its sandbox was made by another
 * door, or its bodies become runs.  The scope of a route is the guard's. */
static const struct {
    const char *name;
    int (*try)(struct trial *t, const struct asks *ask, const char *text);
    bool route_has_scope;
} families[] = {
    { "run", try_run, false },   { "session", try_run, false }, { "use", try_use, true },
    { "tool", try_tool, false }, { "own", try_own, false },     { "dialect", try_run, false },
    { "shell", try_run, false }, { "sandbox", NULL, true },     { "tree", NULL, true },
    { "look", NULL, true },
};

static void check_refusal(const struct trial *t, const char *family, enum bound bound, int at,
                          int above)
{
    if (at < 0)
        fail_msg("%s: what is at %s is refused: %s", family, bound_names[bound],
                 t->refusal.err.message);
    if (above == 0 || t->refusal.bound != bound)
        fail_msg("%s: what is above %s is not refused by it: %s", family, bound_names[bound],
                 above == 0 ? "it passes" : t->refusal.err.message);
}

static bool try_ask(size_t family, enum bound bound)
{
    struct trial t;
    int at, above;

    for (size_t i = 0; i < ARRAY_LEN(asks) && families[family].try; i++)
        if (asks[i].bound == bound) {
            begin(&t, bound);
            at = families[family].try(&t, &asks[i], asks[i].at);
            above = at == 0 ? families[family].try(&t, &asks[i], asks[i].above) : 0;
            check_refusal(&t, families[family].name, bound, at, above);
            ledger_close(&t.ledger);
            return true;
        }
    return false;
}

static bool try_take(size_t family, enum bound bound)
{
    struct held *held[2] = { NULL };
    struct trial t;
    int at, above;

    for (size_t i = 0; i < ARRAY_LEN(takes); i++)
        if (takes[i].bound == bound) {
            begin(&t, bound);
            at = ledger_take(&t.ledger, &t.grant, &takes[i].need, NULL, NULL, &held[0], &t.refusal);
            above =
                ledger_take(&t.ledger, &t.grant, &takes[i].need, NULL, NULL, &held[1], &t.refusal);
            check_refusal(&t, families[family].name, bound, at, above);
            ledger_give_back(held[0]);
            ledger_close(&t.ledger);
            return true;
        }
    return false;
}

static bool try_times(size_t family, enum bound bound)
{
    uint64_t ms[] = { 2000, 2001, 60000, 60001 }, age = 0;
    struct session_facts facts = { .language = "python" };
    bool life = bound == BOUND_LIFE;
    struct trial t;
    int at, above;

    if (!life && bound != BOUND_CELL_TIME)
        return false;
    begin(&t, bound);
    at = life ? admit_life(&t.grant, &ms[2], &age, &t.refusal)
              : admit_cell(&t.grant, &t.config, &facts, NULL, &ms[0], &t.refusal);
    above = life ? admit_life(&t.grant, &ms[3], &age, &t.refusal)
                 : admit_cell(&t.grant, &t.config, &facts, NULL, &ms[1], &t.refusal);
    check_refusal(&t, families[family].name, bound, at, above);
    ledger_close(&t.ledger);
    return true;
}

static unsigned int stopped;

static void stop(void *context)
{
    (void)context;
    stopped++;
}

static bool is_revoked(void *unused, const char *token_id)
{
    (void)unused;
    return !strcmp(token_id, "0123456789abcdef");
}

static bool try_revoked(enum bound bound)
{
    struct held *held = NULL;
    struct trial t;

    if (bound != BOUND_REVOKED)
        return false;
    begin(&t, bound);
    stopped = 0;
    assert_int_equal(ledger_take(&t.ledger, &t.grant, &(struct need){ .runs = 1 }, stop, NULL,
                                 &held, &t.refusal),
                     0);
    ledger_end_tokens(&t.ledger, is_revoked, NULL);
    assert_int_equal(stopped, 1);
    ledger_give_back(held);
    ledger_close(&t.ledger);
    return true;
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

static size_t family_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (!strcmp(families[i].name, name))
            return i;
    fail_msg("the family %s is not tried", name);
    return 0;
}

static const struct row {
    const char *family, *bounds, *elsewhere;
} rows[] = {
#define FAMILY(name, bounds) { #name, bounds, NULL },
#define ELSEWHERE(name, bounds, why) { #name, NULL, bounds },
#define DOOR(what, family)
#include "../doors.def"
#undef FAMILY
#undef ELSEWHERE
#undef DOOR
};

static void every_bound_of_every_family_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (unsigned int b = BOUND_NONE + 1; rows[i].bounds && b < N_BOUNDS; b++) {
            size_t family = family_of(rows[i].family);
            enum bound bound = (enum bound)b;

            if (!has_word(rows[i].bounds, bound_names[b] + sizeof("BOUND")))
                continue;
            if (bound == BOUND_SCOPE && families[family].route_has_scope)
                continue;
            if (!try_ask(family, bound) && !try_take(family, bound) && !try_times(family, bound) &&
                !try_revoked(bound))
                fail_msg("%s: nobody tries %s", rows[i].family, bound_names[b]);
        }
}

static void every_bound_is_there_or_elsewhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i += 2)
        for (unsigned int b = BOUND_NONE + 1; b < N_BOUNDS; b++) {
            const char *word = bound_names[b] + sizeof("BOUND");

            assert_string_equal(rows[i].family, rows[i + 1].family);
            if (has_word(rows[i].bounds, word) == has_word(rows[i + 1].elsewhere, word))
                fail_msg("%s: %s has to be in one of the two lists", rows[i].family, word);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bound_of_every_family_holds),
        cmocka_unit_test(every_bound_is_there_or_elsewhere),
    };
    struct tree_place place;
    int r;

    tree_place_make(&place); /* for workspaces */
    r = cmocka_run_group_tests(tests, NULL, NULL);
    tree_place_remove(&place);
    return r;
}
