/* SRC:DST:MODE, NAME=VALUE, work directories, projects and workspaces, a line each. */
#include "base/text.h"
#include "fuzz.h"
#include "model/request.h"

/* `valid`: the whole request was accepted; without an image, the host's /usr is ours alone. */
static void check_volumes(const sbr_request *req, bool valid)
{
    for (size_t i = 0; i < req->n_volumes; i++) {
        const char *target = req->volumes[i].target;

        FUZZ_ASSERT(req->volumes[i].source[0] == '/');
        FUZZ_ASSERT(target[0] == '/' && text_is_safe_relative_path(target + 1, REQUEST_MAX_PATH));
        if (valid)
            FUZZ_ASSERT(strcmp(target, "/usr") != 0 && strncmp(target, "/usr/", 5) != 0);
        FUZZ_ASSERT(strcmp(target, "/proc") != 0 && strncmp(target, "/proc/", 6) != 0);
        for (size_t k = 0; k < i; k++)
            FUZZ_ASSERT(strcmp(target, req->volumes[k].target) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *line;
    sbr_request *req;
    sbr_error err;

    FUZZ_ASSERT(request_new(NULL, NULL, &req, &err) == 0);
    while ((line = strsep(&rest, "\n"))) {
        int r = request_add_volume(req, line, &err);

        FUZZ_ASSERT(r == 0 || (r == err.code && err.message[0]));
        r = request_add_env(req, line, &err);
        FUZZ_ASSERT(r < 0 || strchr(line, '='));
        r = request_set_workdir(req, line, &err);
        FUZZ_ASSERT(r < 0 || line[0] == '/');
        r = request_set_project(req, line, &err);
        FUZZ_ASSERT(r < 0 || (req->project[0] == '/' && !strstr(req->project, "//")));
        r = request_set_workspace(req, line, &err);
        FUZZ_ASSERT(r < 0 || (!strchr(line, '/') && line[0] != '.'));
        r = request_check(req, &err);
        FUZZ_ASSERT(r == 0 || (r == err.code && err.message[0]));
    }
    check_volumes(req, request_check(req, &err) == 0);
    request_free(req);
    free(text);
    return 0;
}
