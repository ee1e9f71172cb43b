/* A request is the one document that strangers write. */
#include "fuzz.h"
#include "model/request.h"

#include "base/text.h"

static void check_limits(const struct limits *limits)
{
    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (limits->given & 1u << i)
            FUZZ_ASSERT(limits->value[i] >= limit_defs[i].min &&
                        limits->value[i] <= limit_defs[i].max);
}

static void check_request(const sbr_request *req)
{
    check_limits(&req->limits);
    FUZZ_ASSERT(req->require < N_TIERS);
    for (size_t i = 0; i < req->n_files; i++)
        FUZZ_ASSERT(text_is_safe_relative_path(req->files[i].path, REQUEST_MAX_PATH));
    for (size_t i = 0; i < req->env.n; i++)
        FUZZ_ASSERT(strchr(req->env.items[i], '=') > req->env.items[i]);
    for (size_t i = 0; i < req->n_volumes; i++)
        FUZZ_ASSERT(req->volumes[i].source[0] == '/' &&
                    text_is_safe_relative_path(req->volumes[i].target + 1, REQUEST_MAX_PATH));
    FUZZ_ASSERT(req->args.n <= REQUEST_MAX_ARGS && req->env.n <= REQUEST_MAX_ENV &&
                req->n_files <= REQUEST_MAX_FILES && req->n_volumes <= REQUEST_MAX_VOLUMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sbr_request *req = NULL;
    sbr_error err = { 0 };

    if (request_from_json((const char *)data, size, &req, &err) == 0) {
        check_request(req);
        request_free(req);
    } else {
        FUZZ_ASSERT(!req && err.code < 0 && err.message[0]);
    }
    return 0;
}
