#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/piston.h"
#include "model/result.h"

/* clang-format off */
static const struct ending {
    const char *outcome, *status, *signal, *message;
} endings[] = {
    { "timeout",        "TO", "SIGKILL", "Time limit exceeded (wall clock)" },
    { "cpu_limit",      "TO", "SIGKILL", "Time limit exceeded" },
    { "memory_limit",   "SG", "SIGKILL", "memory limit exceeded" },
    { "output_limit",   "OL", "SIGKILL", "stdout length exceeded" },
    { "disk_limit",     "SG", "SIGKILL", "disk limit exceeded" },
    { "process_limit",  "SG", "SIGKILL", "process limit exceeded" },
    { "denied",         "SG", "SIGSYS",  "a system call was denied" },
    { "cancelled",      "XX", "SIGKILL", "the run was cancelled" },
    { "internal_error", "XX", "SIGKILL", "the sandbox failed" },
};
/* clang-format on */

static const struct ending *find_ending(const json_t *stage)
{
    static const struct ending stderr_long = { "output_limit", "EL", "SIGKILL",
                                               "stderr length exceeded" };
    const char *outcome = translate_word(stage, "outcome");

    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (!strcmp(endings[i].outcome, outcome))
            return !strcmp(outcome, "output_limit") &&
                           json_is_true(json_object_get(stage, "stderr_truncated"))
                       ? &stderr_long
                       : &endings[i];
    return NULL;
}

/* How it ended: code, signal, message, status. */
static void put_ending(json_t *object, const json_t *stage)
{
    const struct ending *ending = find_ending(stage);
    const char *signal = translate_word(stage, "signal");
    json_int_t code = json_integer_value(json_object_get(stage, "exit_code"));
    char message[64];

    if (ending) {
        json_object_update_new(object,
                               json_pack("{s:n, s:s, s:s, s:s}", "code", "signal", ending->signal,
                                         "message", ending->message, "status", ending->status));
    } else if (signal[0]) {
        snprintf(message, sizeof(message), "Caught fatal signal %d", result_signal_number(signal));
        json_object_update_new(object, json_pack("{s:n, s:s, s:s, s:s}", "code", "signal", signal,
                                                 "message", message, "status", "SG"));
    } else if (code) {
        snprintf(message, sizeof(message), "Exited with error status %d", (int)code);
        json_object_update_new(object, json_pack("{s:I, s:n, s:s, s:s}", "code", code, "signal",
                                                 "message", message, "status", "RE"));
    } else {
        json_object_update_new(object, json_pack("{s:i, s:n, s:n, s:n}", "code", 0, "signal",
                                                 "message", "status"));
    }
}

static json_t *both(json_t *out, json_t *errout)
{
    size_t out_len = json_string_length(out), errout_len = json_string_length(errout);
    scoped_free char *all = NULL;

    if (!out_len || !errout_len)
        return json_incref(out_len ? out : errout);
    all = malloc(out_len + errout_len);
    if (!all)
        return NULL;
    memcpy(all, json_string_value(out), out_len);
    memcpy(all + out_len, json_string_value(errout), errout_len);
    return json_stringn(all, out_len + errout_len);
}

json_t *piston_stage(const json_t *stage, json_t *output)
{
    json_t *out = translate_stream_text(stage, "stdout");
    json_t *errout = translate_stream_text(stage, "stderr"), *object;

    output = output || !out || !errout ? output : both(out, errout);
    object = json_pack("{s:o, s:o, s:o}", "stdout", out, "stderr", errout, "output", output);
    if (!object)
        return NULL;
    put_ending(object, stage);
    json_object_update_new(
        object, json_pack("{s:I, s:I, s:I}", "cpu_time",
                          (json_int_t)(0.5 + translate_metric(stage, "cpu_user_ms") +
                                       translate_metric(stage, "cpu_system_ms")),
                          "wall_time", (json_int_t)(0.5 + translate_metric(stage, "wall_ms")),
                          "memory", (json_int_t)translate_metric(stage, "peak_memory_bytes")));
    return object;
}

json_t *piston_compile(const json_t *result)
{
    static const char *const names[] = { "compile", "dependencies", "prepare" };
    const json_t *stage = NULL;
    json_t *empty, *object;

    for (size_t i = 0; i < ARRAY_LEN(names) && !stage; i++) {
        stage = translate_stage(result, names[i]);
        if (i && stage && json_is_true(json_object_get(stage, "success")))
            stage = NULL; /* only one that failed is worth a word */
    }
    if (stage)
        return piston_stage(stage, NULL);
    if (!json_is_true(json_object_get(result, "cached")))
        return NULL;
    empty = json_pack("{s:s, s:i}", "outcome", "exited", "exit_code", 0);
    object = piston_stage(empty, NULL);
    json_decref(empty);
    return object;
}
