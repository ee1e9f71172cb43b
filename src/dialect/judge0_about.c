/* What Judge0 says of itself. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dialect/judge0.h"
#include "http/server.h"
#include "model/result.h"

#define VERSION "1.13.1" /* whose interface this is */

void judge0_statuses(struct exchange *x)
{
    json_t *list = json_array();

    for (int i = 1; i <= JUDGE0_N_STATUSES; i++)
        json_array_append_new(list, json_pack("{s:i, s:s}", "id", i, "description",
                                              judge0_status_name((enum judge0_status)i)));
    translate_reply(x, HTTP_OK, list);
}

void judge0_about(struct exchange *x)
{
    scoped_free char *ours = text_format("sandbox-run %s", result_version());

    translate_reply(x, HTTP_OK,
                    json_pack("{s:s, s:n, s:n, s:s}", "version", VERSION, "homepage", "source_code",
                              "maintainer", ours ? ours : ""));
}

void judge0_version(struct exchange *x)
{
    exchange_reply(x, HTTP_OK, "text/plain", strdup(VERSION));
}

/* Null where only the machine bounds it. */
static json_t *most(const struct exchange *x, enum sbr_limit which, uint64_t unit)
{
    uint64_t value = grant_most(&x->tenant, which);

    return value == LIMIT_NONE ? json_null() : json_integer((json_int_t)(value / unit));
}

void judge0_config_info(struct exchange *x)
{
    json_t *info = json_pack("{s:b, s:b, s:i, s:b, s:b, s:b, s:b, s:i, s:i, s:i}",
                             "maintenance_mode", 0, "enable_wait_result", 1, "max_queue_size",
                             (int)x->server->options.running, "enable_compiler_options", 1,
                             "enable_command_line_arguments", 1, "enable_callbacks",
                             x->server->options.callbacks[0] != NULL, "enable_additional_files", 0,
                             "cpu_time_limit", 5, "wall_time_limit", 10, "number_of_runs", 1);

    json_object_update_new(info, json_pack("{s:b, s:i, s:i, s:b}", "enable_batched_submissions", 1,
                                           "max_submission_batch_size", JUDGE0_BATCH_MAX,
                                           "max_number_of_runs", 1, "allow_enable_network",
                                           grant_widest(&x->tenant) == NETWORK_FULL));
    json_object_set_new(info, "max_cpu_time_limit", most(x, SBR_CPU_MS, 1000));
    json_object_set_new(info, "max_wall_time_limit", most(x, SBR_WALL_MS, 1000));
    json_object_set_new(info, "max_memory_limit", most(x, SBR_MEMORY_BYTES, 1024));
    json_object_set_new(info, "max_max_processes_and_or_threads", most(x, SBR_PIDS, 1));
    translate_reply(x, HTTP_OK, info);
}

void judge0_workers(struct exchange *x)
{
    unsigned int running = ledger_used(&x->server->holdings.ledger, NULL).runs;

    translate_reply(x, HTTP_OK,
                    json_pack("[{s:s, s:i, s:i, s:i, s:i}]", "queue", "default", "size", 0,
                              "available", (int)x->server->options.running, "idle",
                              (int)(x->server->options.running - running), "working",
                              (int)running));
}

/* The guard has looked at the token. */
void judge0_authenticate(struct exchange *x)
{
    exchange_reply(x, HTTP_OK, JSON_TYPE, strdup(""));
}

void judge0_not_here(struct exchange *x)
{
    translate_reply(x, HTTP_NOT_IMPLEMENTED,
                    json_pack("{s:s}", "error", "this is not available here"));
}
