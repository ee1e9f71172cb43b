#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/judge0.h"
#include "model/result.h"

#define TEXT_MAX ((size_t)1 << 31)

const char *judge0_status_name(enum judge0_status status)
{
    static const char *const names[JUDGE0_N_STATUSES + 1] = {
        [JUDGE0_QUEUE] = "In Queue",
        [JUDGE0_PROCESSING] = "Processing",
        [JUDGE0_ACCEPTED] = "Accepted",
        [JUDGE0_WRONG] = "Wrong Answer",
        [JUDGE0_TIME] = "Time Limit Exceeded",
        [JUDGE0_COMPILATION] = "Compilation Error",
        [JUDGE0_SIGSEGV] = "Runtime Error (SIGSEGV)",
        [JUDGE0_SIGXFSZ] = "Runtime Error (SIGXFSZ)",
        [JUDGE0_SIGFPE] = "Runtime Error (SIGFPE)",
        [JUDGE0_SIGABRT] = "Runtime Error (SIGABRT)",
        [JUDGE0_NZEC] = "Runtime Error (NZEC)",
        [JUDGE0_OTHER] = "Runtime Error (Other)",
        [JUDGE0_INTERNAL] = "Internal Error",
        [JUDGE0_FORMAT] = "Exec Format Error",
    };

    return names[status];
}

/* clang-format off */
static const struct ending {
    const char *outcome;
    enum judge0_status status;
    const char *message;
} endings[] = {
    { "timeout",        JUDGE0_TIME,        "Time limit exceeded (wall clock)" },
    { "cpu_limit",      JUDGE0_TIME,        "Time limit exceeded" },
    { "memory_limit",   JUDGE0_OTHER,       "Memory limit exceeded" },
    { "output_limit",   JUDGE0_SIGXFSZ,     "File size limit exceeded" },
    { "disk_limit",     JUDGE0_SIGXFSZ,     "Disk limit exceeded" },
    { "process_limit",  JUDGE0_OTHER,       "Process limit exceeded" },
    { "denied",         JUDGE0_OTHER,       "A system call was denied" },
    { "compile_failed", JUDGE0_COMPILATION, NULL },
    { "install_failed", JUDGE0_COMPILATION, NULL },
    { "cancelled",      JUDGE0_INTERNAL,    "The run was cancelled" },
    { "internal_error", JUDGE0_INTERNAL,    "The sandbox failed" },
};

static const struct {
    int number;
    enum judge0_status status;
} signals[] = {
    { SIGSEGV, JUDGE0_SIGSEGV },
    { SIGXFSZ, JUDGE0_SIGXFSZ },
    { SIGFPE,  JUDGE0_SIGFPE },
    { SIGABRT, JUDGE0_SIGABRT },
};
/* clang-format on */

static enum judge0_status status_of_signal(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (signals[i].number == number)
            return signals[i].status;
    return JUDGE0_OTHER;
}

/* Without blanks at the ends of lines and without empty lines at the end. */
static char *stripped(const char *text, size_t len, size_t *ret_len)
{
    struct buf out;

    buf_init(&out, TEXT_MAX);
    for (size_t i = 0, end; i < len; i = end + 1) {
        const char *newline = memchr(text + i, '\n', len - i);
        size_t n;

        end = newline ? (size_t)(newline - text) : len;
        for (n = end; n > i && strchr(" \t\r\v\f", text[n - 1]) && text[n - 1]; n--)
            continue;
        buf_add(&out, text + i, n - i);
        buf_add(&out, "\n", 1);
    }
    while (out.len && out.data[out.len - 1] == '\n')
        out.data[--out.len] = '\0';
    return buf_take(&out, ret_len);
}

static bool is_expected(const json_t *expected, const char *out, size_t out_len)
{
    const char *base64 = json_string_value(expected);
    scoped_free char *wanted = NULL, *left = NULL, *right = NULL;
    size_t len, left_len, right_len;

    if (!base64)
        return true;
    if (encoding_from_base64(base64, &wanted, &len) < 0)
        return false;
    left = stripped(wanted, len, &left_len);
    right = stripped(out, out_len, &right_len);
    return left && right && left_len == right_len && !memcmp(left, right, left_len);
}

static void set_message(json_t *row, const char *message)
{
    json_object_set_new(row, "message", translate_base64(message, message ? strlen(message) : 0));
}

/* Status and message of a program that ran. */
static enum judge0_status judge(json_t *row, const json_t *result, const json_t *expected,
                                const char *out, size_t len)
{
    const char *outcome = translate_word(result, "outcome");
    const char *name = translate_word(result, "signal");
    json_int_t code = json_integer_value(json_object_get(result, "exit_code"));
    int number = result_signal_number(name);
    char message[64];

    set_message(row, NULL);
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (!strcmp(endings[i].outcome, outcome)) {
            set_message(row, endings[i].message);
            return endings[i].status;
        }
    if (number) {
        snprintf(message, sizeof(message), "Caught fatal signal %d", number);
        set_message(row, message);
        return status_of_signal(number);
    }
    if (code) {
        snprintf(message, sizeof(message), "Exited with error status %d", (int)code);
        set_message(row, message);
        return JUDGE0_NZEC;
    }
    return is_expected(expected, out, len) ? JUDGE0_ACCEPTED : JUDGE0_WRONG;
}

static json_t *seconds(double ms)
{
    char text[32];

    snprintf(text, sizeof(text), "%.3f", ms / 1000);
    return json_string(text);
}

static void put_usage(json_t *row, const json_t *result)
{
    const char *name = translate_word(result, "signal");
    int number = result_signal_number(name);

    json_object_set_new(row, "time",
                        seconds(translate_metric(result, "cpu_user_ms") +
                                translate_metric(result, "cpu_system_ms")));
    json_object_set_new(row, "wall_time", seconds(translate_metric(result, "wall_ms")));
    json_object_set_new(row, "memory",
                        json_integer((json_int_t)translate_metric(result, "peak_memory_bytes") /
                                     1024));
    json_object_set(row, "exit_code", json_object_get(result, "exit_code"));
    json_object_set_new(row, "exit_signal", number ? json_integer(number) : json_null());
}

/* What the compiler said, on both streams. */
static void put_compile_output(json_t *row, const json_t *result)
{
    const json_t *stage = translate_stage(result, "compile");
    size_t out_len = 0, errout_len = 0;
    scoped_free char *out = translate_stream(stage, "stdout", &out_len);
    scoped_free char *errout = translate_stream(stage, "stderr", &errout_len);
    struct buf both;

    buf_init(&both, TEXT_MAX);
    buf_add(&both, out ? out : "", out_len);
    buf_add(&both, errout ? errout : "", errout_len);
    json_object_set_new(row, "compile_output", translate_base64(both.data, both.len));
    buf_done(&both);
}

static enum judge0_status put_streams(const struct execution *e, json_t *row, const json_t *result)
{
    const struct judge0_submission *s = e->ended_context;
    enum judge0_status status;
    size_t out_len, errout_len;
    scoped_free char *out = translate_stream(result, "stdout", &out_len);
    scoped_free char *errout = translate_stream(result, "stderr", &errout_len);
    json_t *both = s->redirect ? translate_both(e) : NULL;
    const char *text = both ? json_string_value(both) : out;
    size_t len = both ? json_string_length(both) : out_len;

    status = judge(row, result, s->expected, text ? text : "", text ? len : 0);
    json_object_set_new(row, "stdout", translate_base64(text, len));
    json_object_set_new(row, "stderr", both ? json_null() : translate_base64(errout, errout_len));
    json_decref(both);
    return status;
}

json_t *judge0_judge(const struct execution *e, const json_t *result,
                     const struct output_files *files)
{
    json_t *row = json_object();
    enum judge0_status status = put_streams(e, row, result);

    (void)files;
    put_compile_output(row, result);
    if (status != JUDGE0_COMPILATION)
        put_usage(row, result);
    json_object_set_new(row, "status_id", json_integer(status));
    return row;
}

json_t *judge0_failure(const char *message)
{
    json_t *row = json_object();

    set_message(row, message);
    json_object_set_new(row, "status_id", json_integer(JUDGE0_INTERNAL));
    return row;
}
