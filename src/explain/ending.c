#include "explain/ending.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ASSEMBLER "Assembler messages:"
#define IN_FILE "` in the language's file"

/* Whom a sentence is about, and how limits are set for it: `before` OPTION `after`, and with a
 * value `before` OPTION `is` VALUE `end`. */
/* clang-format off */
static const struct {
    const char *subject;
    const char *before, *after, *is, *end;
} stages[N_STAGES] = {
    [STAGE_RUN]     = { "the program",     "--", "", " ", "" },
    [STAGE_PREPARE] = { "the preparation", "`", IN_FILE, "=", IN_FILE },
    [STAGE_INSTALL] = { "the installer",   "`", IN_FILE, "=", IN_FILE },
    [STAGE_COMPILE] = { "the compiler",    "--compile-limit ", "=...", "=", "" },
    [STAGE_CHECK]   = { "the checker",     "--compile-limit ", "=...", "=", "" },
};

static const struct {
    enum sbr_verdict verdict;
    enum sbr_limit limit;
    const char *sentence; /* between the subject and the value */
    const char *unknown;  /* behind the value: what we cannot tell */
} limit_ends[] = {
    { SBR_TIMEOUT,       SBR_WALL_MS,      "was still running after", "" },
    { SBR_CPU_LIMIT,     SBR_CPU_MS,       "used more CPU time than", "" },
    { SBR_MEMORY_LIMIT,  SBR_MEMORY_BYTES, "needed more memory than", " (how much is not known)" },
    { SBR_OUTPUT_LIMIT,  SBR_OUTPUT_BYTES, "wrote more output to one stream than", "" },
    { SBR_DISK_LIMIT,    SBR_DISK_BYTES,   "filled its space for files,", "" },
    { SBR_DISK_LIMIT,    SBR_INODES,       "made more files than", "" },
    { SBR_PROCESS_LIMIT, SBR_PIDS,         "was refused a process or thread beyond its", "" },
};

/* What a signal that the kernel, the user or the program itself sent is a sign of. */
static const struct {
    int number;
    const char *sign;
} signs[] = {
    { SIGSEGV, ", an invalid access to memory" },
    { SIGBUS,  ", an access to memory that has nothing behind it" },
    { SIGFPE,  ", an arithmetic error such as a division by zero" },
    { SIGILL,  ", an instruction that this CPU does not have" },
    { SIGABRT, ", the program's own abort()" },
    { SIGINT,  ", which Ctrl-C sends" },
    { SIGPIPE, ", a write to a stream whose reader has left" },
};

static const struct {
    enum sbr_verdict verdict;
    enum denial_kind kind;
} covered[] = {
    { SBR_PROCESS_LIMIT, DENIAL_PROCESS },
    { SBR_MEMORY_LIMIT,  DENIAL_MEMORY  },
    { SBR_DISK_LIMIT,    DENIAL_DISK    },
};
/* clang-format on */

void ending_remedy(enum stage stage, enum sbr_limit which, uint64_t value, char *buf, size_t size)
{
    const struct limit_def *def = &limit_defs[which];
    uint64_t more = value > def->max / 2 ? def->max : 2 * value;
    char text[32];

    buf[0] = '\0';
    if (more <= value)
        return;
    limits_format(which, more, text, sizeof(text));
    snprintf(buf, size, "%s%s%s%s%s", stages[stage].before, def->option, stages[stage].is, text,
             stages[stage].end);
}

static void explain_limit(sbr_result *result, enum stage stage, size_t row)
{
    enum sbr_limit which = limit_ends[row].limit;
    uint64_t value = result->limits.value[which];
    char limit[32], remedy[120], setting[120];

    limits_format(which, value, limit, sizeof(limit));
    ending_remedy(stage, which, value, remedy, sizeof(remedy));
    snprintf(setting, sizeof(setting), "%s%s%s", stages[stage].before, limit_defs[which].option,
             stages[stage].after);
    snprintf(result->explanation, sizeof(result->explanation), "%s %s %s%s; %s %s",
             stages[stage].subject, limit_ends[row].sentence, limit, limit_ends[row].unknown,
             remedy[0] ? remedy : setting, remedy[0] ? "would allow more" : "sets this limit");
}

static void explain_signal(sbr_result *result, enum stage stage)
{
    char name[SIGNAL_NAME_SIZE];
    const char *sign = "";

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (signs[i].number == result->signal)
            sign = signs[i].sign;
    snprintf(result->explanation, sizeof(result->explanation), "%s was ended by %s%s%s",
             stages[stage].subject, result_signal_name(result->signal, name), sign,
             result->signal == SIGINT ? "" : "; the sandbox did not send it");
}

void ending_explain(sbr_result *result, enum stage stage, bool inodes)
{
    result->explanation[0] = '\0';
    if (result->verdict == SBR_SIGNALED)
        explain_signal(result, stage);
    else if (result->verdict == SBR_DENIED)
        snprintf(result->explanation, sizeof(result->explanation),
                 "%s made a system call of a foreign architecture, or sent itself SIGSYS",
                 stages[stage].subject);
    else if (result->verdict == SBR_CANCELLED)
        snprintf(result->explanation, sizeof(result->explanation),
                 "%s was ended because the caller cancelled the run", stages[stage].subject);
    for (size_t i = 0; i < ARRAY_LEN(limit_ends); i++) {
        bool other = (limit_ends[i].limit == SBR_DISK_BYTES && inodes) ||
                     (limit_ends[i].limit == SBR_INODES && !inodes);

        if (limit_ends[i].verdict == result->verdict && !other)
            explain_limit(result, stage, i);
    }
}

/* How compilers tell that a program of theirs was killed, for example by the machine when it lacks
 * memory: then nothing is known to be wrong with the code.  The driver writes it when the compiler
 * is dead, so a whole line has this form, and nothing but `after` follows: texts of the source
 * stand behind a place ("main.c:1:2: error: #error ..."), and their lines are shown after them. */
static const struct killed {
    const char *begins; /* behind the name of a driver or package where `named` */
    const char *ends;   /* NULL: the name of a program */
    const char *after;
    bool named;
} killed[] = {
    { ": fatal error: Killed signal terminated program ", NULL, "compilation terminated.\n", true },
    { ": /", ": signal: killed", "", true },
    { "  process didn't exit successfully: ", " (signal: 9, SIGKILL: kill)", "", false },
};

static size_t name_len(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (isalnum((unsigned char)text[n]) || (text[n] && strchr("_+./-", text[n]))))
        n++;
    return n;
}

static bool tells_of_killed(const struct killed *row, const char *line, size_t len)
{
    size_t name = row->named ? name_len(line, len) : 0, begins = strlen(row->begins);
    size_t ends = row->ends ? strlen(row->ends) : 0;

    if ((row->named && !name) || len <= name + begins + ends ||
        memcmp(line + name, row->begins, begins) != 0)
        return false;
    line += name + begins;
    len -= name + begins;
    return row->ends ? !memcmp(line + len - ends, row->ends, ends) : name_len(line, len) == len;
}

static bool has_killed_child(const struct output *said)
{
    const char *text = said->tail ? said->tail : said->data;
    size_t len = said->tail ? said->tail_len : said->len;

    /* Texts for the assembler may have any lines. */
    if (!text || memmem(text, len, ASSEMBLER, strlen(ASSEMBLER)))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(killed); i++) {
        size_t after = strlen(killed[i].after), left = len, line;

        if (len <= after || memcmp(text + len - after, killed[i].after, after) != 0)
            continue;
        left -= after;
        left -= text[left - 1] == '\n';
        for (line = left; line && text[line - 1] != '\n';)
            line--;
        if (tells_of_killed(&killed[i], text + line, left - line))
            return true;
    }
    return false;
}

void ending_explain_stage(sbr_result *result, enum stage stage, const sbr_result *last)
{
    if (last->explanation[0])
        snprintf(result->explanation, sizeof(result->explanation), "%s", last->explanation);
    else if (has_killed_child(&last->err))
        snprintf(result->explanation, sizeof(result->explanation),
                 "%s says that a program of its own was killed; that need not be the code's fault, "
                 "the machine may lack memory",
                 stages[stage].subject);
    else
        snprintf(result->explanation, sizeof(result->explanation),
                 "%s ended with exit code %d, so the program did not run", stages[stage].subject,
                 last->exit_code);
}

void ending_name_signal(sbr_result *result, int number)
{
    char name[SIGNAL_NAME_SIZE];

    if (result->verdict == SBR_CANCELLED && number)
        snprintf(result->explanation, sizeof(result->explanation),
                 "%s to sandbox-run ended the run", result_signal_name(number, name));
}

/* Of a job whose program did not run, what the failed stage ended by. */
static enum sbr_verdict verdict_behind(const sbr_result *result)
{
    bool failed = result->verdict == SBR_COMPILE_FAILED || result->verdict == SBR_INSTALL_FAILED;

    return failed && result->n_before ? result->before[result->n_before - 1]->verdict
                                      : result->verdict;
}

bool ending_covers(const sbr_result *result, const struct denial *denial)
{
    for (size_t i = 0; i < ARRAY_LEN(covered); i++)
        if (denial->source == DENIAL_BY_LIMIT && covered[i].kind == denial->kind &&
            covered[i].verdict == verdict_behind(result))
            return true;
    return false;
}

bool ending_is_limit(const sbr_result *result)
{
    for (size_t i = 0; i < ARRAY_LEN(limit_ends); i++)
        if (limit_ends[i].verdict == verdict_behind(result))
            return true;
    return false;
}
