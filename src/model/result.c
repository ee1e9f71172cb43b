#include "model/result.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

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
};

const char *result_verdict_name(enum sbr_verdict verdict)
{
    return verdict_names[verdict];
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
    };
}

void result_free(sbr_result *result)
{
    if (!result)
        return;
    free(result->out.data);
    free(result->err.data);
    free(result->out.tail);
    free(result->err.tail);
    for (size_t i = 0; i < result->n_before; i++)
        result_free(result->before[i]);
    diagnosis_free(result->diagnosis);
    denials_done(&result->denials);
    network_done(&result->network);
    if (result->changes)
        changes_done(result->changes);
    free(result->changes);
    output_files_done(&result->files);
    free(result->diff);
    free(result);
}
