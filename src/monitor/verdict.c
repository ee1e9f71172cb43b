#include "monitor/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "explain/ending.h"

static const enum sbr_verdict stop_verdicts[] = {
    [STOP_NONE] = SBR_INTERNAL_ERROR, [STOP_TIMEOUT] = SBR_TIMEOUT,
    [STOP_CPU] = SBR_CPU_LIMIT,       [STOP_MEMORY] = SBR_MEMORY_LIMIT,
    [STOP_OUTPUT] = SBR_OUTPUT_LIMIT, [STOP_DISK] = SBR_DISK_LIMIT,
    [STOP_CANCELLED] = SBR_CANCELLED,
};

/* Signals that the kernel sends for a reason of its own.  Without a limit on CPU time, SIGXCPU was
 * not the kernel's. */
static enum sbr_verdict verdict_of_signal(int number, const struct limits *limits)
{
    switch (number) {
    case SIGXCPU:
        return limits->value[SBR_CPU_MS] == LIMIT_NONE ? SBR_SIGNALED : SBR_CPU_LIMIT;
    case SIGXFSZ:
        return SBR_DISK_LIMIT;
    case SIGSYS:
        return SBR_DENIED;
    default:
        return SBR_SIGNALED;
    }
}

/* The program ended by itself: a failure right after a refusal is named after the refusal. */
static enum sbr_verdict verdict_of_end(const struct observation *seen, const struct limits *limits)
{
    bool failed = seen->wait_status != 0;

    if (failed && seen->refused_forks)
        return SBR_PROCESS_LIMIT;
    if (failed && seen->disk_full)
        return SBR_DISK_LIMIT;
    return WIFSIGNALED(seen->wait_status) ? verdict_of_signal(WTERMSIG(seen->wait_status), limits)
                                          : SBR_EXITED;
}

static void note_limit(sbr_result *result, enum sbr_limit which, enum stage stage,
                       const struct denial *what)
{
    uint64_t value = result->limits.value[which];
    struct denial one = *what;
    char text[32];

    if (!one.count || value == LIMIT_NONE)
        return;
    limits_format(which, value, text, sizeof(text));
    snprintf(one.rule, sizeof(one.rule), "limits: %s %s", limit_defs[which].option, text);
    ending_remedy(stage, which, value, one.remedy, sizeof(one.remedy));
    one.source = DENIAL_BY_LIMIT;
    denials_add(&result->denials, &one);
}

/* Time and output are not refusals: their limits end the run, and that is the verdict. */
void verdict_note_limits(const struct observation *seen, sbr_result *result)
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
        note_limit(result, notes[i].limit, seen->stage, &notes[i].what);
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
        result->verdict = verdict_of_end(seen, &result->limits);

    result->exit_code = exited ? WEXITSTATUS(seen->wait_status) : -1;
    result->signal = signaled ? WTERMSIG(seen->wait_status) : 0;
    if (!seen->reported && result->verdict != SBR_INTERNAL_ERROR)
        result->signal = SIGKILL; /* it ended with everything else inside */
    ending_explain(result, seen->stage, seen->inodes_full);
    verdict_note_limits(seen, result);
}
