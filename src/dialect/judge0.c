/* Judge0 1.13: submissions and what surrounds them. */
#include "dialect/judge0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/dialects.h"
#include "http/dialect.h"
#include "http/server.h"

static void refuse(struct exchange *x, const struct problem *problem)
{
    unsigned int status = problem->status;

    if (status == HTTP_TOO_MANY_REQUESTS)
        status = HTTP_SERVICE_UNAVAILABLE;
    translate_reply(x, status,
                    json_pack("{s:s}", "error",
                              status == HTTP_SERVICE_UNAVAILABLE ? "queue is full"
                                                                 : problem->detail));
}

static struct judge0_submission *find(struct exchange *x)
{
    struct judge0_submission *s = judge0_check_fields(x) ? judge0_find(x, x->words[0]) : NULL;

    if (!s && !x->response)
        judge0_reply_error(x, HTTP_NOT_FOUND, "there is no submission of this token");
    return s;
}

static void show_one(struct exchange *x)
{
    struct judge0_submission *s = find(x);

    if (s)
        judge0_reply(x, s, HTTP_OK);
}

static void delete_one(struct exchange *x)
{
    struct judge0_submission *s = find(x);

    if (!s)
        return;
    if (s->execution || s->settling) {
        judge0_reply_error(x, HTTP_BAD_REQUEST,
                           "submission cannot be deleted because its status is 2 (Processing)");
        return;
    }
    judge0_reply(x, s, HTTP_OK);
    judge0_forget(x->server, s);
}

static void tick(struct server *server, uint64_t now_us)
{
    judge0_call_back_unsent(server);
    judge0_tick(server, now_us);
}

/* clang-format off */
static const struct route routes[] = {
    { "POST", "/submissions", judge0_create_one, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 201,
      "judge0_create", "Judge0: a submission.", NULL, NULL, NULL },
    { "GET", "/submissions", judge0_show_all, SCOPE_RUN, ROUTE_LOOKS, 200, "judge0_list",
      "Judge0: the submissions of this tenant.", NULL, NULL, NULL },
    { "POST", "/submissions/batch", judge0_create_batch, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS,
      201, "judge0_create_batch", "Judge0: up to 20 submissions.", NULL, NULL, NULL },
    { "GET", "/submissions/batch", judge0_show_batch, SCOPE_RUN, ROUTE_LOOKS, 200,
      "judge0_show_batch", "Judge0: up to 20 results.", NULL, NULL, NULL },
    { "GET", "/submissions/{token}", show_one, SCOPE_RUN, ROUTE_LOOKS, 200, "judge0_show",
      "Judge0: one result.", NULL, NULL, NULL },
    { "DELETE", "/submissions/{token}", delete_one, SCOPE_RUN, ROUTE_COUNTED, 200, "judge0_delete",
      "Judge0: forgets a result.", NULL, NULL, NULL },
    { "GET", "/languages", judge0_languages, SCOPE_NONE, ROUTE_LOOKS, 200, "judge0_languages",
      "Judge0: languages and their ids.", NULL, NULL, NULL },
    { "GET", "/languages/all", judge0_languages, SCOPE_NONE, ROUTE_LOOKS, 200,
      "judge0_all_languages", "Judge0: the same.", NULL, NULL, NULL },
    { "GET", "/languages/{id}", judge0_one_language, SCOPE_NONE, ROUTE_LOOKS, 200,
      "judge0_language", "Judge0: one language.", NULL, NULL, NULL },
    { "GET", "/statuses", judge0_statuses, SCOPE_NONE, ROUTE_LOOKS, 200, "judge0_statuses",
      "Judge0: statuses and their ids.", NULL, NULL, NULL },
    { "GET", "/about", judge0_about, SCOPE_NONE, ROUTE_LOOKS, 200, "judge0_about",
      "Judge0: whose interface this is.", NULL, NULL, NULL },
    { "GET", "/version", judge0_version, SCOPE_NONE, ROUTE_BELOW | ROUTE_LOOKS, 200,
      "judge0_version", "Judge0: the version of the interface.", NULL, NULL, "text/plain" },
    { "GET", "/config_info", judge0_config_info, SCOPE_NONE, ROUTE_LOOKS, 200, "judge0_config_info",
      "Judge0: what is allowed.", NULL, NULL, NULL },
    { "GET", "/workers", judge0_workers, SCOPE_NONE, ROUTE_LOOKS, 200, "judge0_workers",
      "Judge0: how much runs.", NULL, NULL, NULL },
    { "POST", "/authenticate", judge0_authenticate, SCOPE_NONE, ROUTE_LOOKS, 200,
      "judge0_authenticate", "Judge0: whether the token is one.", NULL, NULL, NULL },
    { "GET", "/system_info", judge0_not_here, SCOPE_NONE, ROUTE_LOOKS, 501, "judge0_system_info",
      "Judge0: refused.", NULL, NULL, NULL },
    { "GET", "/statistics", judge0_not_here, SCOPE_NONE, ROUTE_LOOKS, 501, "judge0_statistics",
      "Judge0: refused.", NULL, NULL, NULL },
    { 0 },
};
/* clang-format on */

const struct dialect dialect_judge0 = {
    .name = "judge0",
    .routes = routes,
    .token_headers = (const char *const[]){ "X-Auth-Token", "X-RapidAPI-Key", NULL },
    .refuse = refuse,
    .restore = judge0_restore,
    .tick = tick,
    .close = judge0_close,
};
