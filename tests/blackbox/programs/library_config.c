/* Applies the configuration to a request, if a word asks for it, and runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandboxrun.h"

int main(int argc, char **argv)
{
    static const char *const command[] = { "true", NULL };
    sbr_runtime *runtime = NULL;
    sbr_request *request = NULL;
    sbr_result *result = NULL;
    sbr_error error;
    int applied = 0;
    char *json;

    if (sbr_runtime_open(NULL, &runtime, &error) < 0 ||
        sbr_request_new(NULL, NULL, &request, &error) < 0 ||
        sbr_request_set_argv(request, command) < 0 ||
        sbr_request_set_require(request, "process") < 0)
        return 2;
    if (argc > 1)
        applied = sbr_request_apply_config(request, argv[1], &error);
    printf("%d %s\n", applied, applied ? error.message : "");
    if (applied < 0 || sbr_run(runtime, request, &result, &error) < 0)
        return 1;
    json = sbr_result_to_json(result);
    printf("%s\n", json ? json : "");
    free(json);
    sbr_result_free(result);
    sbr_request_free(request);
    sbr_runtime_close(runtime);
    return 0;
}
