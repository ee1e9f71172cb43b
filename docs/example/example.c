/* Runs a Python program from C and prints what happened.
 *
 *   cc example.c $(pkg-config --cflags --libs sandboxrun) && ./a.out */
#include <sandboxrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const sbr_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", what, err->stage, err->message);
    return 1;
}

int main(void)
{
    static const char program[] = "import sys\n"
                                  "print('hello,', sys.stdin.read())\n";
    sbr_runtime *runtime;
    sbr_request *request;
    sbr_result *result;
    sbr_error err;
    const sbr_report *report;
    char *json;

    /* Once for the process: looks at the machine. */
    if (sbr_runtime_open(NULL, &runtime, &err) < 0)
        return fail("runtime", &err);

    /* What to run. */
    if (sbr_request_new("python", NULL, &request, &err) < 0)
        return fail("request", &err);
    if (sbr_request_add_file(request, "main.py", program, strlen(program)) < 0 ||
        sbr_request_set_stdin(request, "world", 5) < 0 ||
        sbr_request_set_limit(request, SBR_WALL_MS, 5000) < 0 ||
        sbr_request_set_limit(request, SBR_MEMORY_BYTES, 128 << 20) < 0)
        return 1;

    /* An error means that it was not run; a result means that it was, even when it was killed. */
    if (sbr_run(runtime, request, &result, &err) < 0)
        return fail("run", &err);

    report = sbr_result_report(result);
    printf("verdict %d, exit code %d, %.3f s, %zu bytes: %.*s", report->verdict, report->exit_code,
           (double)report->wall_us / 1e6, report->out_len, (int)report->out_len, report->out);
    json = sbr_result_to_json(result);
    printf("%s\n", json ? json : "out of memory");

    free(json);
    sbr_result_free(result);
    sbr_request_free(request);
    sbr_runtime_close(runtime);
    return 0;
}
