#include "cli/present.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "cli/not_inside.h"
#include "cli/patient_output.h"
#include "cli/terminal.h"
#include "explain/ending.h"

#define RULE "\xe2\x94\x80\xe2\x94\x80" /* two box-drawing dashes */
#define DOT " \xc2\xb7 "                /* a middle dot */
#define TIMES " \xc3\x97"               /* the multiplication sign */
#define RED "\x1b[31m"
#define YELLOW "\x1b[33m"
#define PLAIN "\x1b[0m"
#define LONG_PART (32u << 10)
#define READER_PIPE (256 * 1024)

bool present_uses_color(int fd, const struct options *o)
{
    const char *no_color = getenv("NO_COLOR"), *ours = getenv("SANDBOX_RUN_NO_COLOR");
    const char *force = getenv("FORCE_COLOR"), *term = getenv("TERM");

    if (o->no_color || (no_color && *no_color) || (ours && *ours))
        return false;
    if (force && *force)
        return true;
    return isatty(fd) && !(term && !strcmp(term, "dumb"));
}

/* For stderr: stdout belongs to the program. */
static const char *paint(const struct options *o, const char *code)
{
    return present_uses_color(STDERR_FILENO, o) ? code : "";
}

static int errors_fd = -1; /* of present_errors_only */
bool present_has_lines(void)
{
    return isatty(STDOUT_FILENO);
}

void present_json(struct jsonw *j)
{
    scoped_free char *text = jsonw_take(j);

    printf("%s\n", text ? text : "{\"success\":false,\"outcome\":\"internal_error\"}");
}

struct printing {
    bool failed, is_long;
};

static void print_part(void *context, const char *text, size_t len)
{
    struct printing *printing = context;

    if (len >= LONG_PART && !printing->is_long) {
        printing->is_long = true; /* the reader then waits less often; refused above a quota */
        (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, READER_PIPE);
        printing->failed |= fflush(stdout) != 0;
    }
    if (printing->failed)
        return;
    printing->failed = printing->is_long ? patient_output_write(text, len) < 0
                                         : fwrite(text, 1, len, stdout) < len;
}

/* In parts: the output may be gigabytes. */
int present_result_json(const sbr_result *result, sbr_error *err)
{
    struct printing printing = { .failed = false };
    struct jsonw j;

    jsonw_init_sink(&j, present_has_lines(), print_part, &printing);
    result_put_json(&j, result);
    if (jsonw_end_sink(&j) < 0)
        return err_set_oom(err, "result");
    print_part(&printing, "\n", 1);
    if (printing.failed || fflush(stdout) != 0)
        return err_set_errno(err, "result", "cannot write the result");
    return 0;
}

/* A line of ours: "sandbox-run:" in colour, then the text. */
static void __attribute__((format(printf, 3, 4)))
say(const struct options *o, const char *color, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "%ssandbox-run:%s ", paint(o, color), paint(o, PLAIN));
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

void present_header(const char *title, const struct options *o)
{
    fprintf(stderr, "%s" RULE " %s " RULE "%s\n", paint(o, "\x1b[2m"), title, paint(o, PLAIN));
}

static void format_bytes(uint64_t bytes, char *buf, size_t size)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    unsigned int unit = 0;

    while (value >= 1024 && unit + 1 < ARRAY_LEN(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(buf, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void format_end(const sbr_result *r, char *buf, size_t size)
{
    char name[SIGNAL_NAME_SIZE];

    if (r->verdict == SBR_EXITED)
        snprintf(buf, size, "exited %d", r->exit_code);
    else if (r->verdict == SBR_SIGNALED)
        snprintf(buf, size, "%s", result_signal_name(r->signal, name));
    else
        snprintf(buf, size, "%s", result_verdict_name(r->verdict));
}

/* Three digits are enough. */
static void format_seconds(uint64_t us, char *buf, size_t size)
{
    double seconds = (double)us / 1e6;

    snprintf(buf, size, "%.*f s", seconds < 10 ? 3 : seconds < 100 ? 1 : 0, seconds);
}

/* What a stage did, when it succeeded and when not. */
static const struct {
    const char *name, *done, *failed, *note;
} doings[] = {
    { "prepare", "prepared", "preparing", " (once)" },
    { "dependencies", "installed", "installing", " (once)" },
    { "compile", "compiled", "compiling", "" },
    { "check", "checked", "checking", "" },
};

static void print_stage_time(const sbr_result *stage)
{
    char time[24];

    format_seconds(stage->stage_us, time, sizeof(time));
    for (size_t i = 0; i < ARRAY_LEN(doings); i++)
        if (!strcmp(doings[i].name, stage->stage))
            fprintf(stderr, DOT "%s %s%s",
                    result_success(stage) ? doings[i].done : doings[i].failed, time,
                    result_success(stage) ? doings[i].note : "");
}

/* Where the time went: the program's alone, or each stage and the sum. */
static void print_times(const sbr_result *r)
{
    bool waited = r->total_us > r->usage.startup_us + r->usage.wall_us + 100000;
    char time[24];

    for (size_t i = 0; i < r->n_before; i++)
        print_stage_time(r->before[i]);
    format_seconds(r->usage.wall_us, time, sizeof(time));
    if (r->ran || !r->n_before)
        fprintf(stderr, DOT "%s%s", r->n_before ? "ran " : "", time);
    format_seconds(r->total_us, time, sizeof(time));
    if (r->n_before || waited)
        fprintf(stderr, DOT "total %s", time);
}

static void print_metrics(const sbr_result *r, const struct options *o)
{
    const struct usage *u = &r->usage;
    char end[48], memory[24];

    format_end(r, end, sizeof(end));
    format_bytes(u->peak_memory_bytes, memory, sizeof(memory));
    fprintf(stderr, "%s" RULE " %s%s", paint(o, result_success(r) ? "\x1b[32m" : "\x1b[31m"), end,
            paint(o, "\x1b[0;2m"));
    if (r->language.name)
        fprintf(stderr, DOT "%s%s%s", r->language.name, r->language.version[0] ? " " : "",
                r->language.version);
    print_times(r);
    fprintf(stderr,
            DOT "cpu %.3f s" DOT "memory %s" DOT "%llu process%s" DOT "%sstart %.1f ms" DOT
                "isolation %s%s\n",
            (double)(u->cpu_user_us + u->cpu_system_us) / 1e6, memory,
            (unsigned long long)u->peak_processes, u->peak_processes == 1 ? "" : "es",
            strcmp(r->startup, "cold") != 0 ? "warm " : "", (double)u->startup_us / 1e3,
            request_tier_name(r->isolation.tier), paint(o, PLAIN));
}

/* For reports of a defect: which program of ours, when, which run. */
static void print_origin(const sbr_result *r, const struct options *o)
{
    char time[RESULT_TIME_SIZE];

    result_format_time(r->started_at_us, time);
    fprintf(stderr, "%s" RULE " sandbox-run %s" DOT "started %s" DOT "id %s%s\n",
            paint(o, "\x1b[2m"), result_version(), time, r->id, paint(o, PLAIN));
}

void present_streams(const sbr_result *result, const struct options *o)
{
    const struct output *const streams[] = { &result->out, &result->err };
    static const char *const names[] = { "stdout", "stderr" };

    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        if (streams[i]->unread)
            say(o, YELLOW, "the reader of %s did not take the last %llu bytes in time", names[i],
                (unsigned long long)streams[i]->unread);
    if (result->output_id[0])
        say(o, "", "%s as %.*s: `sandbox-run output %.*s` prints it",
            result->output_cut ? "the beginning of the output is kept" : "all output is kept",
            PRESENT_ID, result->output_id, PRESENT_ID, result->output_id);
}

void present_errors_only(void)
{
    int errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    errors_fd = errors;
    if (errors >= 0 && nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    scope_close_fd(&nowhere);
}

void present_error(const sbr_error *err, const struct options *o)
{
    if (errors_fd >= 0) {
        fflush(stderr);
        (void)dup2(errors_fd, STDERR_FILENO);
    }
    say(o, RED, "%s: %s", err->stage, err->message);
}

/* Text of an untrusted program, to stderr: without control sequences if that is a terminal. */
static void write_untrusted(const char *data, size_t len, const struct options *o)
{
    struct terminal_filter filter = { 0 };
    struct buf clean;

    if (len == 0)
        return;
    if (o->raw || !isatty(STDERR_FILENO)) {
        fwrite(data, 1, len, stderr);
    } else {
        buf_init(&clean, 4 * len + 1024);
        terminal_clean(&filter, data, len, &clean);
        fwrite(clean.data ? clean.data : "", 1, clean.len, stderr);
        buf_done(&clean);
    }
    if (data[len - 1] != '\n')
        fputc('\n', stderr);
}

static void write_line(const char *title, const char *text, const struct options *o)
{
    if (!text)
        return;
    fprintf(stderr, "%s%s%s", paint(o, "\x1b[36m"), title, paint(o, PLAIN));
    write_untrusted(text, strlen(text), o);
}

/* Without the message, which the program or compiler has printed itself.  `hint`: what to do about
 * it was not said yet. */
static void print_diagnosis(const struct diagnosis *d, bool hint, const struct options *o)
{
    if (!d || (!d->context && !d->suggestion))
        return;
    if (d->file && d->line)
        fprintf(stderr, "%sat%s %.200s:%u\n", paint(o, "\x1b[36m"), paint(o, PLAIN), d->file,
                d->line);
    if (d->context)
        write_untrusted(d->context, strlen(d->context), o);
    write_line("hint ", hint ? d->suggestion : NULL, o);
    write_line("see  ", hint && d->suggestion ? d->link : NULL, o);
}

/* The words before the target of a denial. */
static const char *const refused_words[N_DENIAL_KINDS] = {
    [DENIAL_CONNECT] = "connect to ",  [DENIAL_NAME] = "look up ", [DENIAL_FILE] = "",
    [DENIAL_SYSCALL] = "system call ", [DENIAL_PROCESS] = "",      [DENIAL_MEMORY] = "more ",
    [DENIAL_DISK] = "more ",
};

/* Without the words that say where we know it from: JSON and `explain` have them. */
static const char *rule_for_people(const char *rule)
{
    static const char *const sources[] = { "stderr: ", "root: ", "landlock: ", "volumes: " };

    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (!strncmp(rule, sources[i], strlen(sources[i])))
            rule += strlen(sources[i]);
    return rule;
}

/* A file that could be brought in if there were one.  Only here, for the user of this machine: a
 * result may go to somebody who must not learn what the machine has. */
static bool is_nowhere(const struct denial *d)
{
    char remedy[sizeof(d->remedy)];

    snprintf(remedy, sizeof(remedy), "--volume %.140s:%.140s:ro", d->target, d->target);
    return d->kind == DENIAL_FILE && !strcmp(d->remedy, remedy) && not_inside_nor_here(d->target);
}

/* denials_add has removed control characters from the texts. */
void present_denial(const struct denial *d, const char *allows, const struct options *o)
{
    if (is_nowhere(d)) {
        fprintf(stderr,
                "%ssandbox-run: not found:%s %s is neither in the sandbox nor on this machine\n",
                paint(o, YELLOW), paint(o, PLAIN), d->target);
        return;
    }
    fprintf(stderr, "%ssandbox-run: %s:%s %s%s", paint(o, YELLOW),
            d->source == DENIAL_BY_HOST ? "failed" : "refused", paint(o, PLAIN),
            refused_words[d->kind], d->target);
    if (d->count > 1)
        fprintf(stderr, TIMES "%llu", (unsigned long long)d->count);
    fprintf(stderr, " (%s)", rule_for_people(d->rule));
    if (d->remedy[0])
        fprintf(stderr, "; %s%s%s%s", paint(o, "\x1b[36m"), d->remedy, paint(o, PLAIN),
                d->remedy[0] != '-' ? "" : allows);
    fputc('\n', stderr);
}

/* Leaves out the refusal that the explanation has named with its remedy. */
static void print_denials(const sbr_result *result, const struct options *o)
{
    const struct denials *denials = &result->denials;
    uint64_t more = denials->dropped;
    size_t shown = 0;

    for (size_t i = 0; i < denials->n; i++) {
        if (ending_covers(result, &denials->items[i]))
            continue;
        if (shown++ < PRESENT_DENIALS)
            present_denial(&denials->items[i],
                           denials->items[i].source == DENIAL_BY_LIMIT ? " would allow more"
                                                                       : " would allow it",
                           o);
        else
            more++;
    }
    if (more)
        fprintf(stderr, "%ssandbox-run: refused:%s and %llu more; --json has %s\n",
                paint(o, YELLOW), paint(o, PLAIN), (unsigned long long)more,
                denials->dropped ? "most of them" : "them all");
}

/* A stream of a stage before the program, as far as it is kept. */
static void write_stream(const struct output *stream, const struct options *o)
{
    uint64_t omitted = stream->total - stream->len - stream->tail_len;

    write_untrusted(stream->data, stream->len, o);
    if (!stream->tail)
        return;
    say(o, YELLOW, "%llu bytes are left out here", (unsigned long long)omitted);
    write_untrusted(stream->tail, stream->tail_len, o);
}

static bool shows_warnings(const struct options *o)
{
    return !o->quiet && (o->verbose || o->text || isatty(STDERR_FILENO));
}

void present_warnings(const sbr_result *stage, const struct options *o)
{
    bool compiler = !strcmp(stage->stage, "compile") || !strcmp(stage->stage, "check");

    if (!result_success(stage) || !(compiler ? shows_warnings(o) : o->verbose && !o->quiet))
        return;
    write_stream(&stage->out, o);
    write_stream(&stage->err, o);
}

void present_earlier_warnings(const char *text, const struct options *o)
{
    if (shows_warnings(o))
        write_untrusted(text, strlen(text), o);
}

void present_port(const sbr_event *event)
{
    fprintf(stderr, "sandbox-run: port %u inside is reached at %s\n", event->inside_port,
            event->target);
}

void present_stages(const sbr_result *result, size_t first, const struct options *o)
{
    for (size_t i = 0; i < result->n_before; i++) {
        const sbr_result *stage = result->before[i];

        if (result_success(stage)) {
            if (i >= first)
                present_warnings(stage, o);
            continue;
        }
        write_stream(&stage->out, o);
        write_stream(&stage->err, o);
    }
}

void present_not_inside(const sbr_result *result, const struct options *o)
{
    const char *word = result_success(result) ? NULL : not_inside_find(o);

    if (word && result->verdict == SBR_EXITED)
        say(o, YELLOW, "your directory has '%.100s' but is not inside; --project . brings it in",
            word);
}

void present_explanation(const sbr_result *result, const struct options *o)
{
    if (result->explanation[0])
        say(o, RED, "%s", result->explanation);
}

#define EXCLUDED_SHOWN 5

/* Names of the user's own tree; they may hold anything. */
static void print_excluded(const sbr_result *result, const struct options *o)
{
    const struct string_list *excluded = &result->excluded;
    struct buf names;

    if (!excluded->n)
        return;
    buf_init(&names, 2000);
    for (size_t i = 0; i < excluded->n && i < EXCLUDED_SHOWN; i++) {
        char shown[200];

        text_copy_visibly(shown, sizeof(shown), excluded->items[i], strlen(excluded->items[i]));
        buf_printf(&names, "%s%s", i ? ", " : "", shown);
    }
    if (excluded->n > EXCLUDED_SHOWN)
        buf_printf(&names, " and %zu more", excluded->n - EXCLUDED_SHOWN);
    say(o, "", "left out of what the program sees: %s; --include PATTERN shows %s",
        names.data ? names.data : "", excluded->n == 1 ? "it" : "them");
    buf_done(&names);
}

/* What a program imports that deserves a look. */
static void print_uses(const sbr_result *result, const struct options *o,
                       enum present_detail detail)
{
    struct buf names;

    if ((!o->request->check && detail != PRESENT_ALL) || !result->uses.n)
        return;
    buf_init(&names, 1000);
    for (size_t i = 0; i < result->uses.n; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", result->uses.items[i]);
    say(o, "", "the program uses %s", names.data ? names.data : "");
    buf_done(&names);
}

bool present_has_words(const sbr_result *result, enum present_detail detail)
{
    if (detail == PRESENT_ALL || result->explanation[0] || result->output_id[0] ||
        result->excluded.n || result->out.unread || result->err.unread)
        return true;
    if (detail == PRESENT_END)
        return result->denials.n && !result_success(result);
    return result->denials.n || result->diagnosis;
}

void present_result(const sbr_result *result, const struct options *o, enum present_detail detail)
{
    print_excluded(result, o);
    print_uses(result, o, detail);
    present_explanation(result, o);
    if (detail != PRESENT_END || !result_success(result))
        print_denials(result, o);
    if (detail == PRESENT_END)
        return;
    print_diagnosis(result->diagnosis, !ending_is_limit(result), o);
    if (detail != PRESENT_ALL)
        return;
    for (size_t i = 0; i < result->isolation.n_missing; i++)
        say(o, YELLOW, "without %s", result->isolation.missing[i]);
    print_metrics(result, o);
    if (o->verbose)
        print_origin(result, o);
}
