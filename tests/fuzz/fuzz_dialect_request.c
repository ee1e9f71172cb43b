/* Bodies of other services' interfaces, from their bytes to a checked request of ours.  The first
 * byte chooses the interface. */
#include "base/json_read.h"
#include "dialect/catalog.h"
#include "dialect/gojudge.h"
#include "dialect/judge0.h"
#include "dialect/piston.h"
#include "fuzz.h"
#include "http/offload.h"
#include "http/server.h"
#include "http/submission.h"
#include "lib/runner.h"
#include "model/request.h"

static const struct grant tenant = {
    .name = "fuzz", .ceilings = { .given = 1u << SBR_WALL_MS, .value[SBR_WALL_MS] = 2000 }
};
static struct server server = { .options.callbacks = { "example.org", "example.net:8080" } };

/* A machine that has every language in one version. */
const struct catalog_row *catalog_find(const struct catalog *catalog, const struct grant *asked,
                                       const char *name, const char *selector)
{
    static struct catalog_row row = { .version = "3.11.2", .best = true };

    (void)catalog;
    (void)asked;
    row.language = language_find(name);
    return row.language && semver_matches(row.version, selector) ? &row : NULL;
}

const struct catalog_row *catalog_at(const struct catalog *catalog, const struct grant *asked,
                                     size_t index)
{
    (void)catalog;
    (void)asked;
    (void)index;
    return NULL;
}

char *catalog_name(const struct catalog_row *row)
{
    return strdup(row->language->name);
}

bool catalog_is_ready(struct exchange *x)
{
    (void)x;
    return true;
}

/* What replies is not reached. */
void offload_start(struct exchange *x, const struct offload *o)
{
    (void)x;
    (void)o;
    abort();
}

void exchange_reply(struct exchange *x, unsigned int status, const char *type, char *body)
{
    (void)x;
    (void)status;
    (void)type;
    (void)body;
    abort();
}

void exchange_reply_texts(struct exchange *x, unsigned int status, const char *type,
                          struct response_text *const *texts, size_t n)
{
    (void)x;
    (void)status;
    (void)type;
    (void)texts;
    (void)n;
    abort();
}

void apart_do(struct exchange *x, bool large, struct apart *a)
{
    (void)x;
    (void)large;
    (void)a;
    abort();
}

json_t *judge0_show(const json_t *row, bool base64, const char *fields)
{
    (void)row;
    (void)base64;
    (void)fields;
    abort();
}

int submission_begin(struct server *s, const struct grant *asked, const json_t *body,
                     const struct submission_extra *extra, struct execution **ret,
                     struct refusal *fault)
{
    (void)s;
    (void)asked;
    (void)body;
    (void)extra;
    (void)ret;
    (void)fault;
    abort();
}

/* What a dialect makes of a body names nothing of the host, whatever the body says. */
static void check_request(const json_t *request, struct gojudge_command *command)
{
    sbr_request *req = NULL;
    sbr_error err = { 0 };

    FUZZ_ASSERT(!json_object_get(request, "volumes") && !json_object_get(request, "workspace"));
    if (request_from_value(request, &req, &err) < 0) {
        FUZZ_ASSERT(!req && err.code < 0 && err.message[0]);
        return;
    }
    FUZZ_ASSERT(req->n_volumes == 0);
    for (unsigned int i = 0; i < N_LIMITS; i++)
        FUZZ_ASSERT(!(req->limits.given & 1u << i) || (req->limits.value[i] >= limit_defs[i].min &&
                                                       req->limits.value[i] <= limit_defs[i].max));
    if (command && gojudge_add(req, command, &err) < 0)
        FUZZ_ASSERT(err.code < 0 && err.message[0]);
    sbr_request_free(req);
}

static void try_piston(const json_t *body)
{
    char message[PISTON_MESSAGE_SIZE] = "";
    const struct catalog_row *row = piston_find(server.catalog, &tenant, body, message);
    json_t *request = row ? piston_request(&tenant, body, row, message) : NULL;

    FUZZ_ASSERT(request || message[0] != '\0');
    if (request)
        check_request(request, NULL);
    json_decref(request);
}

static void try_judge0(const json_t *body, bool base64)
{
    json_t *row = json_object(), *errors = NULL;
    const struct judge0_given given = { &server, &tenant, body, base64 };
    struct catalog_row language = { .version = "" };
    json_t *request = NULL;

    judge0_take_language(&given, &language, row, &errors);
    if (!errors)
        request = judge0_request(&given, &language, row, &errors);
    FUZZ_ASSERT(!request == (errors != NULL));
    if (request)
        check_request(request, NULL);
    json_decref(request);
    json_decref(errors);
    json_decref(row);
}

static void try_gojudge(const json_t *body)
{
    const json_t *given;
    size_t i;

    json_array_foreach(json_object_get(body, "cmd"), i, given) {
        struct gojudge_command command = { .given = given,
                                           .server = &server,
                                           .tenant = &tenant,
                                           .dir = strdup("/nowhere"),
                                           .dir_lock = -1,
                                           .in = -1 };
        char message[200] = "";
        bool holds = gojudge_hold(&command, message) == 0;
        json_t *request = holds ? gojudge_request(&command, message) : NULL;

        FUZZ_ASSERT(command.dir && (request || message[0]));
        if (request)
            check_request(request, &command);
        json_decref(request);
        for (size_t k = 0; k < command.n_held; k++)
            response_text_drop(command.held[k]);
        free(command.held);
        free(command.dir);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_bounds bounds = { .bytes = 1 << 20, .values = 100000, .depth = 32 };
    json_t *body;

    link_init(&server.stored);
    if (!size)
        return 0;
    body = json_read((const char *)data + 1, size - 1, &bounds,
                     JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, "the body", NULL);
    if (!body)
        return 0;
    if (data[0] == 'p')
        try_piston(body);
    else if (data[0] == 'g')
        try_gojudge(body);
    else
        try_judge0(body, data[0] == 'b');
    json_decref(body);
    return 0;
}
