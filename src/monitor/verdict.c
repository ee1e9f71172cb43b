#include "monitor/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static const enum sbr_verdict stop_verdicts[] = {
    [STOP_NONE] = SBR_INTERNAL_ERROR, [STOP_TIMEOUT] = SBR_TIMEOUT,
    [STOP_CPU] = SBR_CPU_LIMIT,       [STOP_MEMORY] = SBR_MEMORY_LIMIT,
    [STOP_OUTPUT] = SBR_OUTPUT_LIMIT, [STOP_DISK] = SBR_DISK_LIMIT,
    [STOP_CANCELLED] = SBR_CANCELLED,
};

static const struct {
    enum sbr_verdict verdict;
    enum sbr_limit limit;
    const char *sentence;
} explanations[] = {
    { SBR_TIMEOUT, SBR_WALL_MS, "the program was still running after" },
    { SBR_CPU_LIMIT, SBR_CPU_MS, "the program used more processor time than" },
    { SBR_MEMORY_LIMIT, SBR_MEMORY_BYTES, "the program needed more memory than" },
    { SBR_OUTPUT_LIMIT, SBR_OUTPUT_BYTES, "the program wrote several times more output than" },
    { SBR_DISK_LIMIT, SBR_DISK_BYTES, "the program filled its space for files," },
    { SBR_DISK_LIMIT, SBR_INODES, "the program made more files than" },
    { SBR_PROCESS_LIMIT, SBR_PIDS, "the program was refused a process or thread beyond its" },
};

/* How a limit is set: `before` NAME `after`, and with its value `before` NAME `is` VALUE `end`. */
static const struct {
    const char *before, *after, *is, *end;
} settings[] = {
    [LIMITS_BY_OPTION] = { "--", "", " ", "" },
    [LIMITS_BY_COMPILE_LIMIT] = { "--compile-limit ", "=...", "=", "" },
    [LIMITS_BY_LANGUAGE] = { "`", "` in the language's file", "=", "` in the language's file" },
};

/* Signals that the kernel sends for a reason of its own. */
static enum sbr_verdict verdict_of_signal(int number)
{
    switch (number) {
    case SIGXCPU:
        return SBR_CPU_LIMIT;
    case SIGXFSZ:
        return SBR_DISK_LIMIT;
    case SIGSYS:
        return SBR_DENIED;
    default:
        return SBR_SIGNALED;
    }
}

/* The program ended by itself: a failure right after a refusal is named after the refusal. */
static enum sbr_verdict verdict_of_end(const struct observation *seen)
{
    bool failed = seen->wait_status != 0;

    if (failed && seen->refused_forks)
        return SBR_PROCESS_LIMIT;
    if (failed && seen->disk_full)
        return SBR_DISK_LIMIT;
    return WIFSIGNALED(seen->wait_status) ? verdict_of_signal(WTERMSIG(seen->wait_status))
                                          : SBR_EXITED;
}

static void explain(const struct observation *seen, sbr_result *result)
{
    char limit[32];

    result->explanation[0] = '\0';
    if (result->verdict == SBR_DENIED)
        snprintf(result->explanation, sizeof(result->explanation),
                 "the program used a system call of a foreign architecture or one that kills it");
    for (size_t i = 0; i < ARRAY_LEN(explanations); i++) {
        enum sbr_limit which = explanations[i].limit;

        if (explanations[i].verdict != result->verdict ||
            (which == SBR_DISK_BYTES && seen->inodes_full) ||
            (which == SBR_INODES && !seen->inodes_full))
            continue;
        limits_format(which, result->limits.value[which], limit, sizeof(limit));
        snprintf(result->explanation, sizeof(result->explanation), "%s %s; %s%s%s sets this limit",
                 explanations[i].sentence, limit, settings[seen->setter].before,
                 limit_defs[which].option, settings[seen->setter].after);
    }
}

/* The double of what was not enough, or "" when there is no more to be had. */
static void format_remedy(enum sbr_limit which, uint64_t value, enum limits_setter setter,
                          char *remedy, size_t size)
{
    const struct limit_def *def = &limit_defs[which];
    uint64_t more = value > def->max / 2 ? def->max : 2 * value;
    char text[32];

    remedy[0] = '\0';
    if (more <= value)
        return;
    limits_format(which, more, text, sizeof(text));
    snprintf(remedy, size, "%s%s%s%s%s", settings[setter].before, def->option, settings[setter].is,
             text, settings[setter].end);
}

static void note_limit(sbr_result *result, enum sbr_limit which, enum limits_setter setter,
                       const struct denial *what)
{
    uint64_t value = result->limits.value[which];
    struct denial one = *what;
    char text[32];

    if (!one.count || value == LIMIT_NONE)
        return;
    limits_format(which, value, text, sizeof(text));
    snprintf(one.rule, sizeof(one.rule), "limits: %s %s", limit_defs[which].option, text);
    format_remedy(which, value, setter, one.remedy, sizeof(one.remedy));
    one.source = DENIAL_BY_LIMIT;
    denials_add(&result->denials, &one);
}

/* Notes what limits refused, whether the program failed because of it or not.  Time and output are
 * not refusals: their limits end the run, and that is the verdict. */
static void note_limits(const struct observation *seen, sbr_result *result)
{
    bool memory = seen->oom_kills || seen->stop == STOP_MEMORY;
    bool disk = seen->disk_full || seen->stop == STOP_DISK || result->signal == SIGXFSZ;
    /* A limit that was only reached may have refused nothing: then only a failure counts. */
    uint64_t forks = seen->forks_guessed && result_success(result) ? 0 : seen->refused_forks;
    const struct {
        enum sbr_limit limit;
        struct denial what;
    } notes[] = {
        { SBR_PIDS, { DENIAL_PROCESS, "a new process or thread", "", "", forks, 0 } },
        { SBR_MEMORY_BYTES,
          { DENIAL_MEMORY, "memory", "", "", memory && !seen->oom_kills ? 1 : seen->oom_kills,
            0 } },
        { SBR_DISK_BYTES, { DENIAL_DISK, "disk space", "", "", disk && !seen->inodes_full, 0 } },
        { SBR_INODES, { DENIAL_DISK, "files", "", "", disk && seen->inodes_full, 0 } },
    };

    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        note_limit(result, notes[i].limit, seen->setter, &notes[i].what);
}

void verdict_decide(const struct observation *seen, sbr_result *result)
{
    bool exited = seen->reported && WIFEXITED(seen->wait_status);
    bool signaled = seen->reported && WIFSIGNALED(seen->wait_status);

    if (seen->oom_kills && (seen->stop == STOP_NONE || seen->stop == STOP_MEMORY))
        result->verdict = SBR_MEMORY_LIMIT;
    else if (seen->stop != STOP_NONE || !seen->reported)
        result->verdict = stop_verdicts[seen->stop];
    else
        result->verdict = verdict_of_end(seen);

    result->exit_code = exited ? WEXITSTATUS(seen->wait_status) : -1;
    result->signal = signaled ? WTERMSIG(seen->wait_status) : 0;
    if (!seen->reported && result->verdict != SBR_INTERNAL_ERROR)
        result->signal = SIGKILL; /* it ended with everything else inside */
    explain(seen, result);
    note_limits(seen, result);
}
