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
#include "config/gateway_options.h"
#include "http/dialect.h"
#include "http/listener.h"
#include "http/route.h"
#include "http/server.h"
#include "http/token.h"

#define EXIT_OURS 125
#define BODY_DEFAULT (16 * MIB)
#define CONNECTIONS_DEFAULT 2048
#define RUNNING_DEFAULT 1024

/* Rows of config/gateway_options.h, and those that `serve` does not hand on. */
#define WORD_OF_VALUE(field, name, metavar, help) OPTION_##field,
#define WORD_OF_SWITCH(field, name, help) OPTION_##field,
enum word {
    OPTION_listen = 256,
    GATEWAY_OPTIONS(WORD_OF_VALUE, WORD_OF_SWITCH) OPTION_ready,
    OPTION_openapi,
    OPTION_routes,
    OPTION_help
};

struct row {
    const char *name, *metavar, *help; /* of one that is not for people: NULL */
    enum word word;
};

#define ROW_OF_VALUE(field, name, metavar, help) { name, metavar, help, OPTION_##field },
#define ROW_OF_SWITCH(field, name, help) { name, NULL, help, OPTION_##field },
static const struct row rows[] = {
    { GATEWAY_ADDRESS_OPTION, "ADDRESS:PORT", "serve TCP, for clients with a token",
      OPTION_listen },
    GATEWAY_OPTIONS(ROW_OF_VALUE, ROW_OF_SWITCH){ "openapi", NULL, "print the OpenAPI document",
                                                  OPTION_openapi },
    { "routes", NULL, "print the routes", OPTION_routes },
    { "help", NULL, "this help", OPTION_help },
    { GATEWAY_READY_OPTION, "FD", NULL, OPTION_ready },
};

static void fill_words(struct option words[ARRAY_LEN(rows) + 1])
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        words[i] = (struct option){ rows[i].name, rows[i].metavar ? required_argument : no_argument,
                                    NULL, (int)rows[i].word };
    words[ARRAY_LEN(rows)] = (struct option){ 0 };
}

static int print_help(void)
{
    dprintf(STDOUT_FILENO,
            GATEWAY_PROGRAM " [OPTIONS] - serve the sandbox over HTTP (docs/http.md)\n\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[40];

        snprintf(name, sizeof(name), "--%s%s%s", rows[i].name, rows[i].metavar ? " " : "",
                 rows[i].metavar ? rows[i].metavar : "");
        if (rows[i].help)
            dprintf(STDOUT_FILENO, "  %-22s %s\n", name, rows[i].help);
    }
    return 0;
}

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
    case OPTION_listen:
        options->address = value;
        return 0;
    case OPTION_socket:
        options->socket = value;
        return 0;
    case OPTION_no_socket:
        options->socket = NULL;
        return 0;
    case OPTION_tls_cert:
        options->certificate = value;
        return 0;
    case OPTION_tls_key:
        options->key = value;
        return 0;
    case OPTION_allow_host:
        return add_name(options->hosts, value, err);
    case OPTION_allow_origin:
        return add_name(options->origins, value, err);
    case OPTION_dialect:
        return add_dialects(options, value, err);
    case OPTION_callback:
        return add_name(options->callbacks, value, err);
    case OPTION_max_body:
        return set_size(options, value, err);
    case OPTION_connections:
        return read_count(value, 1, 65536, &options->connections, err);
    case OPTION_connections_per_address:
        return read_count(value, 1, 65536, &options->connections_per_address, err);
    case OPTION_running:
        return read_count(value, 1, 65536, &options->running, err);
    case OPTION_ready:
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
    struct option words[ARRAY_LEN(rows) + 1];
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
    fill_words(words);
    while ((word = getopt_long(argc, argv, "", words, NULL)) != -1) {
        if (word == OPTION_openapi)
            return print_openapi();
        if (word == OPTION_routes)
            return print_routes();
        if (word == OPTION_help)
            return print_help();
        if (set_option(&options, word, optarg, &err) < 0)
            return fail(&err);
    }
    return server_run(&options, &err) < 0 ? fail(&err) : 0;
}
