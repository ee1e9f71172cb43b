/* What can be reached, as the library takes it.  Silent when all is as the header says. */
#include <sandboxrun.h>
#include <stdio.h>
#include <string.h>

static int complaints;

static void expect(const char *what, int got, int wanted)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s: %d instead of %d\n", what, got, wanted);
    complaints++;
}

static void wrong_values(sbr_request *req)
{
    expect("no request", sbr_request_set_network(NULL, "none"), SBR_E_INVALID);
    expect("no mode", sbr_request_set_network(req, NULL), SBR_E_INVALID);
    expect("wrong mode", sbr_request_set_network(req, "host"), SBR_E_INVALID);
    expect("no request for a host", sbr_request_allow_host(NULL, "a.example"), SBR_E_INVALID);
    expect("no host", sbr_request_allow_host(req, NULL), SBR_E_INVALID);
    expect("wrong host", sbr_request_allow_host(req, "https://a.example"), SBR_E_INVALID);
    expect("no request for names", sbr_request_allow_dns(NULL, 1), SBR_E_INVALID);
    expect("too many connections", sbr_request_set_limit(req, SBR_CONNECTIONS, 1000001),
           SBR_E_INVALID);
    expect("no connection", sbr_request_set_limit(req, SBR_CONNECTIONS, 0), 0);
    expect("bytes in", sbr_request_set_limit(req, SBR_NETWORK_IN, 0), 0);
    expect("bytes out", sbr_request_set_limit(req, SBR_NETWORK_OUT, 1), 0);
}

/* Each alone is fine; together they are refused, and nothing is run. */
static void wrong_together(sbr_runtime *rt, sbr_request *req)
{
    sbr_result *result;
    sbr_error err = { 0 };

    expect("names", sbr_request_allow_dns(req, 1), 0);
    expect("no names", sbr_request_allow_dns(req, 0), 0);
    expect("host", sbr_request_allow_host(req, "a.example:443"), 0);
    expect("mode", sbr_request_set_network(req, "none"), 0);
    expect("host in none", sbr_run(rt, req, &result, &err), SBR_E_INVALID);
    if (!strstr(err.message, "an allowed host"))
        expect(err.message, 1, 0);
}

int main(void)
{
    static const char *const argv[] = { "true", NULL };
    sbr_runtime *rt;
    sbr_request *req;

    if (sbr_runtime_open(NULL, &rt, NULL) < 0 || sbr_request_new(NULL, NULL, &req, NULL) < 0)
        return 2;
    expect("argv", sbr_request_set_argv(req, argv), 0);
    wrong_values(req);
    wrong_together(rt, req);
    sbr_request_free(req);
    sbr_runtime_close(rt);
    return complaints != 0;
}
