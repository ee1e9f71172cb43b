/* library_work verify|compare|profile REQUEST [REQUEST|CALL]...: work on code by the library, with requests as JSON. */
#include <sandboxrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int r, const sbr_error *err)
{
    if (r < 0) {
        fprintf(stderr, "%s: %s\n", sbr_code_name(err->code), err->message);
        exit(1);
    }
}

static sbr_request *request_of(const char *text)
{
    sbr_request *req = NULL;
    sbr_error err;

    must(sbr_request_from_json(text, strlen(text), &req, &err), &err);
    return req;
}

int main(int argc, char **argv)
{
    const sbr_compare compare = { .struct_size = sizeof(compare), .repeat = 2 };
    const sbr_profile profile = { .struct_size = sizeof(profile), .repeat = 2 };
    const sbr_verify verify = { .struct_size = sizeof(verify),
                                .calls = (const char *const *)argv + 3 };
    sbr_request *one = request_of(argv[2]), *two = NULL;
    sbr_runtime *rt = NULL;
    char *text = NULL;
    sbr_error err;

    must(sbr_runtime_open(NULL, &rt, &err), &err);
    if (!strcmp(argv[1], "verify")) {
        must(sbr_verify_run(rt, one, &verify, &text, &err), &err);
    } else if (!strcmp(argv[1], "compare") && argc == 4) {
        two = request_of(argv[3]);
        must(sbr_compare_run(rt, one, two, &compare, &text, &err), &err);
    } else {
        must(sbr_profile_run(rt, one, &profile, &text, &err), &err);
    }
    puts(text);
    free(text);
    sbr_request_free(one);
    sbr_request_free(two);
    sbr_runtime_close(rt);
    return 0;
}
