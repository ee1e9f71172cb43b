/* Asking the person: by a request of ours where the client has a connection, by a result that the
 * client sends back with an answer where each message stands alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mcp/mcp_internal.h"

#define KEY "apply" /* of the question among those that a result has, and of the person's answer */
#define PATIENCE_S 600
#define STATE_SIZE (24 + 2 * SHA256_SIZE)
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
static json_t *await(struct mcp_call *call, const char *id)
{
    struct mcp_peer *peer = call->peer;
    struct timespec until;
    json_t *answer = NULL;
    int r = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (r == 0 && !call->cancelled && !(answer = json_object_get(peer->answers, id)))
        r = pthread_cond_timedwait(&peer->woken, &peer->lock, &until);
    json_incref(answer);
    json_object_del(peer->awaited, id);
    json_object_del(peer->answers, id);
    return answer;
}

json_t *mcp_ask_client(struct mcp_call *call, const char *method, json_t *params)
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
    answer = await(call, id);
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

/* TIME.SIGNATURE of this question, these arguments and this time. */
static bool write_state(struct mcp_call *call, const char *question, uint64_t until_s,
                        char ret[STATE_SIZE])
{
    scoped_free char *arguments = json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS);
    char signature[2 * SHA256_SIZE + 1], time[24];

    if (!arguments)
        return false;
    snprintf(time, sizeof(time), "%llu", (unsigned long long)until_s);
    sign(call->peer->server->key, (const char *const[]){ time, question, arguments }, 3, signature);
    snprintf(ret, STATE_SIZE, "%.20s.%s", time, signature);
    return true;
}

static bool is_our_state(struct mcp_call *call, const char *question)
{
    const char *given = mcp_text(call->params, "requestState");
    uint64_t now = clock_read_us(CLOCK_REALTIME) / 1000000, until = 0;
    char state[STATE_SIZE], digits[24];
    unsigned char differs = 0;

    if (!given || strcspn(given, ".") >= sizeof(digits))
        return false;
    snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(given, "."), given);
    if (text_parse_count(digits, &until) != TEXT_OK || until < now ||
        !write_state(call, question, until, state) || strlen(given) != strlen(state))
        return false;
    for (size_t i = 0; state[i]; i++) /* in the same time whatever differs */
        differs |= (unsigned char)(state[i] ^ given[i]);
    return !differs;
}

/* The client asks, and sends the call once more with the answer. */
static bool ask_stateless(struct mcp_call *call, const char *question)
{
    json_t *answers = json_object_get(call->params, "inputResponses");
    uint64_t until = clock_read_us(CLOCK_REALTIME) / 1000000 + PATIENCE_S;
    char state[STATE_SIZE];

    if (answers && is_our_state(call, question))
        return decide(call, json_object_get(answers, KEY));
    if (!write_state(call, question, until, state)) {
        mcp_call_fail(call, "no_memory: out of memory");
        return false;
    }
    call->whole = json_pack("{s:s, s:{s:{s:s, s:o}}, s:s}", "resultType", "input_required",
                            "inputRequests", KEY, "method", "elicitation/create", "params",
                            form(question), "requestState", state);
    return false;
}

bool mcp_ask_person(struct mcp_call *call, const char *question)
{
    json_t *answer;
    bool agreed;

    if (!json_object_get(call->era.capabilities, "elicitation")) {
        mcp_call_fail(call,
                      "denied: this client cannot ask the person, and the operator did not "
                      "give --allow-apply; the person can run `sandbox-run apply %s`",
                      mcp_text(call->arguments, "changes_id"));
        return false;
    }
    if (call->era.stateless)
        return ask_stateless(call, question);
    answer = mcp_ask_client(call, "elicitation/create", form(question));
    agreed = decide(call, answer);
    json_decref(answer);
    return agreed;
}
