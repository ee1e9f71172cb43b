/* The engine's state as a table. */
#include "cli/gateway.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/text.h"
#include "cli/amounts.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "engine/engine_main.h"

static unsigned long long number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (unsigned long long)value : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Callers choose the names: no control character may reach the terminal. */
static void print_name(const char *name, int width)
{
    int n = 0;

    for (; *name; name++, n++)
        putchar(iscntrl((unsigned char)*name) ? '?' : *name);
    for (; n < width; n++)
        putchar(' ');
}

static void print_gateway(const json_t *gateway)
{
    unsigned long long pid = number_of(gateway, "pid"), n = number_of(gateway, "restarts");

    if (!gateway)
        return;
    if (pid)
        printf("http     process %llu, ", pid);
    else
        printf("http     about to be started again, ");
    printf("started again %llu time%s\n", n, n == 1 ? "" : "s");
}

static void print_head(const json_t *status)
{
    const json_t *memory = json_object_get(status, "memory");
    uint64_t up_ms = number_of(status, "uptime_ms");
    char uptime[32], used[16], limit[16], reserved[16], most[16];

    text_format_duration(up_ms < 1000 ? up_ms : up_ms / 1000 * 1000, uptime, sizeof(uptime));
    amount_of_bytes(number_of(memory, "parked_bytes"), used, sizeof(used));
    amount_of_bytes(number_of(memory, "limit_bytes"), limit, sizeof(limit));
    amount_of_bytes(number_of(memory, "reserved_bytes"), reserved, sizeof(reserved));
    amount_of_bytes(number_of(memory, "run_limit_bytes"), most, sizeof(most));
    printf("engine   %s, process %llu, up %s%s\n", text_of(status, "version"),
           number_of(status, "pid"), uptime,
           json_is_true(json_object_get(status, "draining")) ? ", about to end" : "");
    printf("running  %llu of %llu, %llu queued of at most %llu\n", number_of(status, "running"),
           number_of(status, "slots"), number_of(status, "queued"),
           number_of(status, "queue_limit"));
    printf("so far   %llu parked, %llu forked, %llu cold, %llu refused\n",
           number_of(status, "parked_total"), number_of(status, "forked_total"),
           number_of(status, "cold_total"), number_of(status, "refused_total"));
    printf("memory   %s of %s in parked sandboxes, %s of %s reserved for runs\n", used, limit,
           reserved, most);
    print_gateway(json_object_get(status, "gateway"));
    if (*text_of(status, "why_cold")) {
        printf("parked   nothing, every run starts cold: ");
        print_name(text_of(status, "why_cold"), 0);
        printf("; `sandbox-run doctor` says what mends it\n");
    }
}

static void print_pools(const json_t *pools, bool color)
{
    const json_t *pool;
    size_t i;

    if (json_array_size(pools))
        printf("\n%s%-28s  %-8s  %6s  %6s  %6s  %6s  %8s  %4s%s\n", color ? "\x1b[2m" : "", "KIND",
               "STATE", "PARKED", "WANTED", "MAKING", "LEASED", "MADE", "DIED",
               color ? "\x1b[0m" : "");
    json_array_foreach(pools, i, pool) {
        print_name(text_of(pool, "name"), 28);
        printf("  %-8s  %6llu  %6llu  %6llu  %6llu  %8llu  %4llu\n", text_of(pool, "state"),
               number_of(pool, "parked"), number_of(pool, "wanted"), number_of(pool, "making"),
               number_of(pool, "leased"), number_of(pool, "made"), number_of(pool, "died"));
        if (*text_of(pool, "reason")) {
            printf("    ");
            print_name(text_of(pool, "reason"), 0);
            putchar('\n');
        }
    }
}

static void print_callers(const json_t *callers, bool color)
{
    const json_t *caller;
    size_t i;

    if (json_array_size(callers))
        printf("\n%s%-32s  %7s  %7s%s\n", color ? "\x1b[2m" : "", "CALLER", "RUNNING", "QUEUED",
               color ? "\x1b[0m" : "");
    json_array_foreach(callers, i, caller) {
        print_name(text_of(caller, "name"), 32);
        printf("  %7llu  %7llu\n", number_of(caller, "running"), number_of(caller, "queued"));
    }
}

int serve_status_print(const struct options *o)
{
    scoped_free char *text = NULL;
    bool color = present_uses_color(STDOUT_FILENO, o);
    json_t *status;
    sbr_error err;

    if (engine_status(&text, &err) < 0) {
        int exit_status = cli_fail(o, &err);

        return err.code == SBR_E_NOT_FOUND ? SERVE_STATUS_NONE : exit_status;
    }
    if (o->json && !present_has_lines()) {
        printf("%s\n", text);
        return 0;
    }
    status = json_read_own(text, 0);
    if (!status) {
        err_set(&err, SBR_E_BUG, "engine", "the engine's answer cannot be read");
        return cli_fail(o, &err);
    }
    if (o->json) {
        json_dumpf(status, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_head(status);
        print_pools(json_object_get(status, "pools"), color);
        print_callers(json_object_get(status, "callers"), color);
    }
    json_decref(status);
    return 0;
}
