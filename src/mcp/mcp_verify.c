/* verify_code: checks of code, each in a sandbox of its own. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/json_read.h"
#include "mcp/mcp_internal.h"
#include "plan/language.h"

/* What a model reads of one check. */
#define MOST_CASES 20
#define MOST_TEXT 1000

static const char **texts_of(const json_t *list)
{
    const char **words = calloc(json_array_size(list) + 1, sizeof(*words));
    const json_t *item;
    size_t i;

    if (words)
        json_array_foreach(list, i, item)
            words[i] = json_string_value(item);
    return words;
}

/* Cuts at the end of a character. */
static void cut(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    size_t len = MOST_TEXT;

    if (!text || json_string_length(value) <= MOST_TEXT)
        return;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    (void)json_object_set_new(object, key, json_stringn(text, len));
}

/* Cases that passed are a number: what failed is what one reads. */
static void shorten(json_t *check)
{
    json_t *cases = json_object_get(check, "cases"), *one;
    size_t passed = 0;

    for (size_t i = json_array_size(cases); i-- > 0;) {
        const char *outcome = mcp_text(json_array_get(cases, i), "outcome");

        if (outcome && !strcmp(outcome, "passed") && json_array_remove(cases, i) == 0)
            passed++;
    }
    (void)json_object_set_new(check, "cases_passed", json_integer((json_int_t)passed));
    (void)json_object_set_new(check, "cases_left_out",
                              json_integer(json_array_size(cases) > MOST_CASES
                                               ? (json_int_t)json_array_size(cases) - MOST_CASES
                                               : 0));
    while (json_array_size(cases) > MOST_CASES)
        (void)json_array_remove(cases, MOST_CASES);
    cut(check, "output");
    for (size_t i = 0; (one = json_array_get(cases, i)); i++) {
        cut(one, "name");
        cut(one, "message");
    }
}

static void report(struct mcp_call *call, const char *text)
{
    json_t *found = json_read_own(text, JSON_ALLOW_NUL), *checks, *check;

    if (!found) {
        mcp_call_fail(call, "bug: the verdict cannot be read");
        return;
    }
    checks = json_object_get(found, "checks");
    for (size_t i = 0; (check = json_array_get(checks, i)); i++)
        shorten(check);
    (void)json_object_del(found, "written");
    mcp_call_return(call, found);
}

/* The limits of a check are those of any run of this client, and no checker is installed. */
static int verify(struct mcp_call *call, sbr_request *req, int stop_fd, char **ret, sbr_error *err)
{
    scoped_free const char **calls = texts_of(json_object_get(call->arguments, "calls"));
    scoped_free const char **skip = texts_of(json_object_get(call->arguments, "skip"));
    const struct language *language = NULL;
    const char *const files[] = {
        language_resolve(req->language, &language, err) == 0 ? language->source : NULL, NULL
    };
    const sbr_verify how = { .struct_size = sizeof(how),
                             .files = files, /* the others are there for it */
                             .calls = calls,
                             .skip = skip,
                             .jobs = 1,
                             .stop_fd = stop_fd,
                             .installs_nothing = 1 };
    sbr_runtime *rt = mcp_server_runtime(call->peer->server, err);

    if (!language || !rt || request_set_text(&req->workspace, NULL, err) < 0)
        return err->code;
    if (!calls || !skip)
        return err_set_oom(err, "mcp");
    req->limits.given = (1u << N_LIMITS) - 1;
    if (!mcp_call_watch_stop(call, stop_fd))
        return err_set(err, SBR_E_BUSY, "mcp", "cancelled");
    return sbr_verify_run(rt, req, &how, ret, err);
}

void mcp_verify_code(struct mcp_call *call)
{
    sbr_request *req = mcp_request_make(call, mcp_text(call->arguments, "language"));
    scoped_free char *text = NULL;
    int stop_fd = req ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    sbr_error err = { 0 };
    int r = 0;

    if (!req)
        return;
    if (stop_fd < 0)
        r = err_set_errno(&err, "mcp", "cannot make an event");
    if (r == 0)
        r = verify(call, req, stop_fd, &text, &err);
    (void)mcp_call_watch_stop(call, -1);
    if (r < 0)
        mcp_call_fail_by(call, &err);
    else
        report(call, text);
    if (stop_fd >= 0)
        close(stop_fd);
    sbr_request_free(req);
}
