#include "model/result.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const verdict_names[] = {
    [SBR_EXITED] = "exited",
    [SBR_SIGNALED] = "signaled",
    [SBR_TIMEOUT] = "timeout",
    [SBR_CPU_LIMIT] = "cpu_limit",
    [SBR_MEMORY_LIMIT] = "memory_limit",
    [SBR_OUTPUT_LIMIT] = "output_limit",
    [SBR_DISK_LIMIT] = "disk_limit",
    [SBR_PROCESS_LIMIT] = "process_limit",
    [SBR_DENIED] = "denied",
    [SBR_COMPILE_FAILED] = "compile_failed",
    [SBR_CANCELLED] = "cancelled",
    [SBR_INTERNAL_ERROR] = "internal_error",
    [SBR_INSTALL_FAILED] = "install_failed",
};

const char *result_verdict_name(enum sbr_verdict verdict)
{
    return verdict_names[verdict];
}

/* Errors that the caller can mend have names of their own; the others are ours. */
static const struct {
    enum sbr_code code;
    const char *name;
} error_names[] = {
    { SBR_E_INVALID, "invalid_request" },
    { SBR_E_NOT_FOUND, "not_found" },
    { SBR_E_UNSUPPORTED, "unsupported" },
    { SBR_E_DENIED, "denied" },
    { SBR_E_BUSY, "busy" },
};

const char *result_error_name(int code)
{
    for (size_t i = 0; i < ARRAY_LEN(error_names); i++)
        if (error_names[i].code == code)
            return error_names[i].name;
    return verdict_names[SBR_INTERNAL_ERROR];
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *result_version(void)
{
    return VERSION_TEXT(SBR_VERSION_MAJOR, SBR_VERSION_MINOR, SBR_VERSION_PATCH);
}

void result_format_time(uint64_t us, char buf[RESULT_TIME_SIZE])
{
    time_t seconds = (time_t)(us / 1000000);
    size_t used;
    struct tm utc;

    used =
        gmtime_r(&seconds, &utc) ? strftime(buf, RESULT_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &utc) : 0;
    snprintf(buf + used, RESULT_TIME_SIZE - used, ".%03uZ", (unsigned int)(us / 1000 % 1000));
}

/* clang-format off */
static const struct {
    int number;
    const char *name;
} signal_names[] = {
    { SIGABRT, "SIGABRT" }, { SIGALRM, "SIGALRM" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },
    { SIGHUP, "SIGHUP" },   { SIGILL, "SIGILL" },   { SIGINT, "SIGINT" },   { SIGIO, "SIGIO" },
    { SIGKILL, "SIGKILL" }, { SIGPIPE, "SIGPIPE" }, { SIGPROF, "SIGPROF" }, { SIGPWR, "SIGPWR" },
    { SIGQUIT, "SIGQUIT" }, { SIGSEGV, "SIGSEGV" }, { SIGSTKFLT, "SIGSTKFLT" },
    { SIGSYS, "SIGSYS" },   { SIGTERM, "SIGTERM" }, { SIGTRAP, "SIGTRAP" }, { SIGUSR1, "SIGUSR1" },
    { SIGUSR2, "SIGUSR2" }, { SIGVTALRM, "SIGVTALRM" },
    { SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" },
};
/* clang-format on */

const char *result_signal_name(int number, char buf[SIGNAL_NAME_SIZE])
{
    for (size_t i = 0; i < ARRAY_LEN(signal_names); i++)
        if (signal_names[i].number == number)
            return signal_names[i].name;
    snprintf(buf, SIGNAL_NAME_SIZE, "signal %d", number);
    return buf;
}

int result_signal_number(const char *name)
{
    char buf[SIGNAL_NAME_SIZE];

    for (int number = 1; number < NSIG; number++)
        if (!strcmp(result_signal_name(number, buf), name))
            return number;
    return 0;
}

bool result_success(const sbr_result *result)
{
    return result->verdict == SBR_EXITED && result->exit_code == 0;
}

void result_add_mechanism(struct isolation *isolation, const char *name)
{
    if (isolation->n_mechanisms < ISOLATION_MAX)
        isolation->mechanisms[isolation->n_mechanisms++] = name;
}

void result_add_missing(struct isolation *isolation, const char *name)
{
    if (isolation->n_missing < ISOLATION_MAX)
        isolation->missing[isolation->n_missing++] = name;
}

const char *result_output_end(const struct output *out, size_t *ret_len)
{
    *ret_len = out->tail ? out->tail_len : out->len;
    return out->tail ? out->tail : out->data;
}

/* NULL unless a middle was left out; the tail of a stream that is not kept is for the diagnosis. */
static const char *kept_tail(const struct output *out)
{
    return out->data ? out->tail : NULL;
}

void result_complete(sbr_result *result)
{
    result->report = (struct sbr_report){
        .struct_size = sizeof(result->report),
        .verdict = result->verdict,
        .exit_code = result->exit_code,
        .signal = result->signal,
        .wall_us = result->usage.wall_us,
        .cpu_us = result->usage.cpu_user_us + result->usage.cpu_system_us,
        .peak_memory_bytes = result->usage.peak_memory_bytes,
        .out = result->out.data ? result->out.data : "",
        .out_len = result->out.len,
        .errout = result->err.data ? result->err.data : "",
        .errout_len = result->err.len,
        .out_tail = kept_tail(&result->out),
        .out_tail_len = kept_tail(&result->out) ? result->out.tail_len : 0,
        .out_bytes = result->out.total,
        .errout_tail = kept_tail(&result->err),
        .errout_tail_len = kept_tail(&result->err) ? result->err.tail_len : 0,
        .errout_bytes = result->err.total,
    };
}

static void drop(struct output *output)
{
    free(output->data);
    free(output->tail);
    output->data = output->tail = NULL;
    output->len = output->tail_len = 0;
}

void result_free(sbr_result *result)
{
    if (!result)
        return;
    drop(&result->out);
    drop(&result->err);
    for (size_t i = 0; i < result->n_before; i++)
        result_free(result->before[i]);
    diagnosis_free(result->diagnosis);
    denials_done(&result->denials);
    network_done(&result->network);
    if (result->changes)
        changes_done(result->changes);
    free(result->changes);
    output_files_done(&result->files);
    string_list_done(&result->excluded);
    string_list_done(&result->uses);
    free(result->diff);
    free(result->compile_output);
    free(result);
}
