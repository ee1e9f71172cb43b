/* Asking the person: by a request of ours where the client has a connection, by a result that the
 * client sends back with an answer where each message stands alone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mcp/mcp_internal.h"

#define KEY "apply" /* of the question among those that a result has, and of the person's answer */
#define PATIENCE_S 600
#define HEAD_SIZE 40 /* of a state: two numbers */
#define STATE_SIZE (HEAD_SIZE + 2 + 2 * SHA256_SIZE)
#define BLOCK 64 /* of SHA-256 */

/* What the client asks the person; the answer has "apply". */
static json_t *form(const char *question)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{s:{s:s, s:s, s:b}}, s:[s]}}", "mode", "form", "message",
                     question, "requestedSchema", "type", "object", "properties", KEY, "type",
                     "boolean", "title", "Apply these changes", "default", 0, "required", KEY);
}

static bool agrees(const json_t *answer)
{
    const char *action = mcp_text(answer, "action");

    return action && !strcmp(action, "accept") &&
           json_is_true(json_object_get(json_object_get(answer, "content"), KEY));
}

static bool decide(struct mcp_call *call, const json_t *answer)
{
    if (agrees(answer))
        return true;
    mcp_call_fail(call, "denied: the person did not agree; nothing was changed");
    return false;
}

/* Under the lock of the peer: waits for the answer to a request of ours. */
static json_t *await(struct mcp_call *call, const char *id, unsigned int patience_s)
{
    struct mcp_peer *peer = call->peer;
    struct timespec until;
    json_t *answer = NULL;
    int r = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += patience_s;
    while (r == 0 && !call->cancelled && !(answer = json_object_get(peer->answers, id)))
        r = pthread_cond_timedwait(&peer->woken, &peer->lock, &until);
    json_incref(answer);
    json_object_del(peer->awaited, id);
    json_object_del(peer->answers, id);
    return answer;
}

json_t *mcp_ask_client(struct mcp_call *call, const char *method, json_t *params,
                       unsigned int patience_s)
{
    struct mcp_peer *peer = call->peer;
    json_t *answer, *number;
    char id[32];

    pthread_mutex_lock(&peer->lock);
    snprintf(id, sizeof(id), "sandbox-run-%llu", (unsigned long long)++peer->asked);
    json_object_set_new(peer->awaited, id, json_true());
    pthread_mutex_unlock(&peer->lock);
    number = json_string(id);
    mcp_peer_send(peer, call->context, mcp_message_call(number, method, params));
    json_decref(number);
    pthread_mutex_lock(&peer->lock);
    answer = await(call, id, patience_s);
    pthread_mutex_unlock(&peer->lock);
    return answer;
}

/* HMAC-SHA-256 of the texts, in hexadecimal: clients keep what only we may write. */
static void sign(const unsigned char key[SHA256_SIZE], const char *const *texts, size_t n,
                 char ret[2 * SHA256_SIZE + 1])
{
    unsigned char block[2][BLOCK], sum[SHA256_SIZE];
    struct sha256 hash;

    for (size_t i = 0; i < BLOCK; i++) {
        unsigned char byte = i < SHA256_SIZE ? key[i] : 0;

        block[0][i] = byte ^ 0x36;
        block[1][i] = byte ^ 0x5c;
    }
    sha256_init(&hash);
    sha256_add(&hash, block[0], BLOCK);
    for (size_t i = 0; i < n; i++)
        sha256_add(&hash, texts[i], strlen(texts[i]) + 1);
    sha256_finish(&hash, sum);
    sha256_init(&hash);
    sha256_add(&hash, block[1], BLOCK);
    sha256_add(&hash, sum, sizeof(sum));
    sha256_finish(&hash, sum);
    for (size_t i = 0; i < SHA256_SIZE; i++)
        snprintf(ret + 2 * i, 3, "%02x", sum[i]);
}

/* TIME.ROUND.SIGNATURE of these requests, these arguments, this round and this time. */
static bool write_state(struct mcp_call *call, const json_t *requests, unsigned int round,
                        uint64_t until_s, char ret[STATE_SIZE])
{
    scoped_free char *arguments = json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS);
    scoped_free char *asked = json_dumps(requests, JSON_COMPACT | JSON_SORT_KEYS);
    char signature[2 * SHA256_SIZE + 1], head[HEAD_SIZE];

    if (!arguments || !asked)
        return false;
    snprintf(head, sizeof(head), "%" PRIu64 ".%u", until_s, round);
    sign(call->peer->server->key, (const char *const[]){ head, asked, arguments }, 3, signature);
    snprintf(ret, STATE_SIZE, "%s.%s", head, signature);
    return true;
}

/* The two numbers that a state begins with, of which nothing is known yet. */
static bool read_head(const struct mcp_call *call, uint64_t *ret_until, unsigned int *ret_round)
{
    const char *given = mcp_text(call->params, "requestState");
    uint64_t round = 0;
    char head[HEAD_SIZE], *dot;

    if (!given)
        return false;
    snprintf(head, sizeof(head), "%s", given);
    dot = strchr(head, '.');
    if (!dot)
        return false;
    *dot++ = '\0';
    dot[strcspn(dot, ".")] = '\0';
    if (text_parse_count(head, ret_until) != TEXT_OK || text_parse_count(dot, &round) != TEXT_OK ||
        round >= MCP_ROUNDS)
        return false;
    *ret_round = (unsigned int)round;
    return true;
}

unsigned int mcp_ask_round(const struct mcp_call *call)
{
    unsigned int round = 0;
    uint64_t until;

    return read_head(call, &until, &round) ? round : 0;
}

static bool is_our_state(struct mcp_call *call, const json_t *requests, unsigned int round)
{
    const char *given = mcp_text(call->params, "requestState");
    uint64_t now = clock_read_us(CLOCK_REALTIME) / 1000000, until = 0;
    unsigned int given_round;
    unsigned char differs = 0;
    char state[STATE_SIZE];

    if (!read_head(call, &until, &given_round) || given_round != round || until < now ||
        !write_state(call, requests, round, until, state) || strlen(given) != strlen(state))
        return false;
    for (size_t i = 0; state[i]; i++) /* in the same time whatever differs */
        differs |= (unsigned char)(state[i] ^ given[i]);
    return !differs;
}

static bool answers_all(const json_t *answers, json_t *requests)
{
    const char *key;
    json_t *unused;

    json_object_foreach(requests, key, unused)
        if (!json_is_object(json_object_get(answers, key)))
            return false;
    return true;
}

/* The client asks, and sends the call once more with the answers. */
static json_t *ask_stateless(struct mcp_call *call, json_t *requests, unsigned int round)
{
    json_t *answers = json_object_get(call->params, "inputResponses");
    uint64_t until = clock_read_us(CLOCK_REALTIME) / 1000000 + PATIENCE_S;
    bool of_this_round =
        json_object_get(call->params, "requestState") && mcp_ask_round(call) >= round;
    char state[STATE_SIZE];

    if (of_this_round && !is_our_state(call, requests, round)) {
        call->fault = MCP_INVALID_PARAMS;
        call->why = "requestState is not what this server gave for this call, or its time is "
                    "over; send the call without it";
        return NULL;
    }
    if (of_this_round && answers_all(answers, requests))
        return json_incref(answers);
    if (!write_state(call, requests, round, until, state))
        mcp_call_fail(call, "no_memory: out of memory");
    else
        call->whole = json_pack("{s:s, s:O, s:s}", "resultType", "input_required", "inputRequests",
                                requests, "requestState", state);
    return NULL;
}

static json_t *ask_connected(struct mcp_call *call, json_t *requests)
{
    json_t *answers = json_object(), *request, *answer;
    const char *key;

    json_object_foreach(requests, key, request) {
        answer = mcp_ask_client(call, mcp_text(request, "method"),
                                json_deep_copy(json_object_get(request, "params")), PATIENCE_S);
        json_object_set_new(answers, key, answer ? answer : json_null());
    }
    return answers;
}

/* What a client must be able to do for each request. */
static const char *const needs[][2] = { { "elicitation/create", "elicitation" },
                                        { "sampling/createMessage", "sampling" },
                                        { "roots/list", "roots" } };

static const char *need_of(const json_t *request)
{
    for (size_t i = 0; i < ARRAY_LEN(needs); i++)
        if (!strcmp(needs[i][0], mcp_text(request, "method")))
            return needs[i][1];
    return "";
}

void mcp_ask_lacks(struct mcp_call *call, const char *capability)
{
    if (!call->era.stateless) {
        mcp_call_fail(call, "unsupported: this client has no %s", capability);
        return;
    }
    call->fault = MCP_NO_CAPABILITY;
    call->why = "the client did not say that it can do what this call needs";
    call->fault_data = json_pack("{s:{s:{}}}", "requiredCapabilities", capability);
}

json_t *mcp_ask_inputs(struct mcp_call *call, json_t *requests, unsigned int round)
{
    json_t *possible = json_object(), *request, *answers;
    const char *key, *missing = "";

    json_object_foreach(requests, key, request) {
        if (json_object_get(call->era.capabilities, need_of(request)))
            json_object_set(possible, key, request);
        else
            missing = need_of(request);
    }
    if (!json_object_size(possible)) {
        mcp_ask_lacks(call, missing);
        answers = NULL;
    } else {
        answers = call->era.stateless ? ask_stateless(call, possible, round)
                                      : ask_connected(call, possible);
    }
    json_decref(possible);
    return answers;
}

bool mcp_ask_person(struct mcp_call *call, const char *question)
{
    json_t *requests, *answers;
    bool agreed;

    if (!json_object_get(call->era.capabilities, "elicitation")) {
        bool token = call->peer->server->settings.token != NULL;

        mcp_call_fail(call, "denied: this client cannot ask the person%s %s",
                      token ? "; the person can send POST /v1/changes/ID/apply with the id"
                            : ", and the operator did not give --allow-apply; the person can run "
                              "`sandbox-run apply`",
                      mcp_text(call->arguments, "changes_id"));
        return false;
    }
    requests =
        json_pack("{s:{s:s, s:o}}", KEY, "method", "elicitation/create", "params", form(question));
    answers = mcp_ask_inputs(call, requests, 0);
    json_decref(requests);
    agreed = answers && decide(call, json_object_get(answers, KEY));
    json_decref(answers);
    return agreed;
}
