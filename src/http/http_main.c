/* sandbox-run-http: the gateway, a client of the library that speaks HTTP.
 *
 *   Privilege:   its user's, and nothing else; it serves at a unix socket of that user, and at TCP
 *                only those who have a token.
 *   (1) A request is a run of the library, by the engine's queue, for a tenant.
 *   (2) No path of the host crosses HTTP.
 *   (3) What a client can make it hold is bounded: bytes, connections, runs, time. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "http/dialect.h"
#include "http/listener.h"
#include "http/openapi.h"
#include "http/server.h"
#include "http/token.h"
#include "http/token_command.h"

#define EXIT_OURS 125
#define BODY_DEFAULT (16 * MIB)
#define CONNECTIONS_DEFAULT 2048
#define RUNNING_DEFAULT 1024

enum word {
    OPTION_LISTEN = 256,
    OPTION_SOCKET,
    OPTION_NO_SOCKET,
    OPTION_CERTIFICATE,
    OPTION_KEY,
    OPTION_HOST,
    OPTION_ORIGIN,
    OPTION_DIALECT,
    OPTION_CALLBACK,
    OPTION_BODY,
    OPTION_CONNECTIONS,
    OPTION_RUNNING,
    OPTION_READY,
    OPTION_OPENAPI,
    OPTION_ROUTES,
    OPTION_HELP
};

static const struct option words[] = {
    { "listen", required_argument, NULL, OPTION_LISTEN },
    { "socket", required_argument, NULL, OPTION_SOCKET },
    { "no-socket", no_argument, NULL, OPTION_NO_SOCKET },
    { "tls-cert", required_argument, NULL, OPTION_CERTIFICATE },
    { "tls-key", required_argument, NULL, OPTION_KEY },
    { "allow-host", required_argument, NULL, OPTION_HOST },
    { "allow-origin", required_argument, NULL, OPTION_ORIGIN },
    { "dialect", required_argument, NULL, OPTION_DIALECT },
    { "allow-callback", required_argument, NULL, OPTION_CALLBACK },
    { "max-body", required_argument, NULL, OPTION_BODY },
    { "connections", required_argument, NULL, OPTION_CONNECTIONS },
    { "running", required_argument, NULL, OPTION_RUNNING },
    { "ready-fd", required_argument, NULL, OPTION_READY },
    { "openapi", no_argument, NULL, OPTION_OPENAPI },
    { "routes", no_argument, NULL, OPTION_ROUTES },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static const char help[] =
    "sandbox-run-http [OPTIONS] - serve the sandbox over HTTP (docs/http.md)\n\n"
    "  --listen ADDRESS:PORT  serve TCP, for clients with a token\n"
    "  --socket PATH          the unix socket (default: http.sock beside the engine's)\n"
    "  --no-socket            no unix socket\n"
    "  --tls-cert FILE        certificate of TLS, PEM\n"
    "  --tls-key FILE         its key\n"
    "  --allow-host NAME      a further name of this host in the header Host\n"
    "  --allow-origin ORIGIN  pages of this origin may send requests\n"
    "  --dialect LIST         also the paths of: piston, judge0, go-judge, e2b\n"
    "                         (docs/dialects.md)\n"
    "  --allow-callback HOST  a dialect may send results to this host, as NAME or NAME:PORT\n"
    "  --max-body SIZE        the largest body (default: 16m)\n"
    "  --connections N        at once (default: 2048)\n"
    "  --running N            runs at once (default: 1024; the engine has its own bound)\n"
    "  --openapi              print the OpenAPI document\n"
    "  --routes               print the routes\n";

static int fail(const sbr_error *err)
{
    dprintf(STDERR_FILENO, "sandbox-run-http: %s\n", err->message);
    return EXIT_OURS;
}

static int print_routes(void)
{
    for (const struct route *route = route_table; route->method; route++)
        dprintf(STDOUT_FILENO, "%s %s\n", route->method, route->path);
    return 0;
}

static int print_openapi(void)
{
    char *text = openapi_text();

    dprintf(STDOUT_FILENO, "%s\n", text ? text : "");
    free(text);
    return text ? 0 : EXIT_OURS;
}

static int read_count(const char *text, uint64_t least, uint64_t most, unsigned int *ret,
                      sbr_error *err)
{
    uint64_t value;

    if (text_parse_count(text, &value) != TEXT_OK || value < least || value > most)
        return err_set(err, SBR_E_INVALID, "options", "'%.40s' is no number from %llu to %llu",
                       text, (unsigned long long)least, (unsigned long long)most);
    *ret = (unsigned int)value;
    return 0;
}

static int add_name(const char *list[SERVER_MAX_NAMES + 1], const char *name, sbr_error *err)
{
    for (size_t i = 0; i < SERVER_MAX_NAMES; i++)
        if (!list[i]) {
            list[i] = name;
            return 0;
        }
    return err_set(err, SBR_E_INVALID, "options", "more than %d names are too many",
                   SERVER_MAX_NAMES);
}

static const struct dialect *find_dialect(const char *name, size_t len)
{
    for (size_t i = 0; dialect_table[i]; i++)
        if (strlen(dialect_table[i]->name) == len && !memcmp(dialect_table[i]->name, name, len))
            return dialect_table[i];
    return NULL;
}

/* A list with commas; of two that have the same path the first one answers. */
static int add_dialects(struct server_options *options, const char *list, sbr_error *err)
{
    size_t n = 0;

    while (options->dialects[n])
        n++;
    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (n == SERVER_MAX_DIALECTS || !(options->dialects[n] = find_dialect(list, len)))
            return err_set(err, SBR_E_INVALID, "options",
                           "--dialect: there is no dialect '%.*s'; `sandbox-run-http --help` lists "
                           "them",
                           len < 40 ? (int)len : 40, list);
        n++;
    }
    return 0;
}

static int set_size(struct server_options *options, const char *text, sbr_error *err)
{
    uint64_t bytes;

    if (text_parse_size(text, &bytes) != TEXT_OK || bytes < KIB || bytes > GIB)
        return err_set(err, SBR_E_INVALID, "options", "--max-body '%.40s' is no size from 1k to 1g",
                       text);
    options->max_body = (size_t)bytes;
    return 0;
}

static int set_option(struct server_options *options, int word, const char *value, sbr_error *err)
{
    unsigned int fd = 0;

    switch (word) {
    case OPTION_LISTEN:
        options->address = value;
        return 0;
    case OPTION_SOCKET:
        options->socket = value;
        return 0;
    case OPTION_NO_SOCKET:
        options->socket = NULL;
        return 0;
    case OPTION_CERTIFICATE:
        options->certificate = value;
        return 0;
    case OPTION_KEY:
        options->key = value;
        return 0;
    case OPTION_HOST:
        return add_name(options->hosts, value, err);
    case OPTION_ORIGIN:
        return add_name(options->origins, value, err);
    case OPTION_DIALECT:
        return add_dialects(options, value, err);
    case OPTION_CALLBACK:
        return add_name(options->callbacks, value, err);
    case OPTION_BODY:
        return set_size(options, value, err);
    case OPTION_CONNECTIONS:
        return read_count(value, 1, 65536, &options->connections, err);
    case OPTION_RUNNING:
        return read_count(value, 1, 65536, &options->running, err);
    case OPTION_READY:
        if (read_count(value, 3, 1024, &fd, err) < 0)
            return err->code;
        options->ready_fd = (int)fd;
        return 0;
    }
    return err_set(err, SBR_E_INVALID, "options", "see `sandbox-run-http --help`");
}

int main(int argc, char **argv)
{
    struct server_options options = { .max_body = BODY_DEFAULT,
                                      .connections = CONNECTIONS_DEFAULT,
                                      .running = RUNNING_DEFAULT,
                                      .ready_fd = -1 };
    char path[LISTENER_PATH_SIZE];
    sbr_error err = { 0 };
    int word;

    if (token_start(&err) < 0)
        return fail(&err);
    if (argc > 1 && !strcmp(argv[1], "token"))
        return token_command(argc - 1, argv + 1, &err) < 0 ? fail(&err) : 0;
    if (listener_default_path(path, &err) < 0)
        return fail(&err);
    options.socket = path;
    opterr = 0;
    while ((word = getopt_long(argc, argv, "", words, NULL)) != -1) {
        if (word == OPTION_OPENAPI)
            return print_openapi();
        if (word == OPTION_ROUTES)
            return print_routes();
        if (word == OPTION_HELP)
            return dprintf(STDOUT_FILENO, "%s", help) < 0;
        if (set_option(&options, word, optarg, &err) < 0)
            return fail(&err);
    }
    return server_run(&options, &err) < 0 ? fail(&err) : 0;
}
