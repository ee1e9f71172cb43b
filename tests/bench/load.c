/* Asks the library for runs, alone and many at once, and says how each went.  Serves the figures and the soak.
 *
 *   load rounds N PAUSE FILE        every line of FILE once per round, in an order drawn anew for each
 *   load rate THREADS MS FILE       the first line again and again
 *   load burst THREADS FILE         the first line once in each thread, all at the same moment
 *   load mix THREADS N FILE         N runs in all, each of a line drawn by chance
 *
 * PAUSE is milliseconds before each run, or A-B: a length drawn by chance.  Prints one line per run, in no order:
 *
 *   LINE BEGIN END WAY VERDICT WELL    nanoseconds of CLOCK_MONOTONIC; WAY is parked, forked, cold, bare or none;
 *                                      VERDICT as in sandboxrun.h, or the negative code of an error; WELL is 1
 *                                      when it ended as its line wants
 *
 * A line of FILE is
 *
 *   run VERDICT CHECK JSON   a request.  @N@ in it becomes a number that no other run has.  VERDICT is what must
 *                            come of it; CHECK is `echo` when the program prints that number and nothing else, `-`
 *                            when its output does not matter, `cancel` when it is cancelled after a moment (it may
 *                            then end by itself as well, as VERDICT says)
 *   bare WORD...             the program itself; `&&` between two that follow each other.  Its environment is the
 *                            words NAME=VALUE before its path
 *
 * What was wrong with the first few runs that did not end well is on stderr. */
#define _GNU_SOURCE

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sandboxrun.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINES = 64, MAX_WORDS = 64, MAX_COMPLAINTS = 10 };
enum { MS = 1000000, MAX_CANCEL_MS = 20, STUCK_MS = 120000, FIRST_NUMBER = 10000000 };

enum check { CHECK_NOTHING, CHECK_ECHO, CHECK_CANCEL };

struct line {
    bool bare;
    enum check check;
    int verdict;
    char *json;
    char *words[MAX_WORDS + 1]; /* of a bare command; NULL instead of `&&` */
    size_t n_words;
};

struct sample {
    size_t line;
    int64_t begin, end;
    const char *way;
    int verdict;
    bool well;
};

struct worker {
    pthread_t thread;
    struct sample *samples;
    size_t n, room;
    unsigned int chance;
};

static struct {
    sbr_runtime *runtime;
    struct line lines[MAX_LINES];
    size_t n_lines;
    atomic_long next_number, left, complaints;
    int64_t until;
    pthread_barrier_t start;
} all;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_ms(long ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS };

    if (ms)
        nanosleep(&t, NULL);
}

static void complain(const char *what, const char *detail)
{
    if (atomic_fetch_add(&all.complaints, 1) < MAX_COMPLAINTS)
        fprintf(stderr, "%s: %s\n", what, detail);
}

/* The text with every @N@ replaced; the caller frees it. */
static char *with_number(const char *text, long number)
{
    char *made;
    size_t len;
    FILE *out = open_memstream(&made, &len);

    if (!out)
        err(2, "memory");
    for (const char *mark; (mark = strstr(text, "@N@")); text = mark + 3)
        fprintf(out, "%.*s%ld", (int)(mark - text), text, number);
    fputs(text, out);
    if (fclose(out) != 0)
        err(2, "memory");
    return made;
}

/* How the sandbox of a result came about, by the word in its JSON. */
static const char *way_of(const sbr_result *result)
{
    static const char *const ways[] = { "parked", "forked", "cold" };
    char *json = sbr_result_to_json(result);
    char *found = NULL;
    const char *way = "none";

    for (char *at = json; at && (at = strstr(at, "\"startup\":\"")); at++)
        found = at; /* the last one: the first may be in the output */
    for (size_t i = 0; found && i < sizeof(ways) / sizeof(*ways); i++) {
        if (strncmp(found + strlen("\"startup\":\""), ways[i], strlen(ways[i])) == 0)
            way = ways[i];
    }
    free(json);
    return way;
}

static bool is_well(const struct line *line, long number, const sbr_report *report)
{
    char wanted[40];
    int len = snprintf(wanted, sizeof(wanted), "%ld\n", number);

    if (line->check == CHECK_CANCEL && report->verdict == SBR_CANCELLED)
        return true;
    if (report->verdict != line->verdict)
        return false;
    return line->check != CHECK_ECHO ||
           (report->out_len == (size_t)len && memcmp(report->out, wanted, report->out_len) == 0);
}

/* Cancels after a moment of its own choosing, and follows the job to its end. */
static int run_and_cancel(const sbr_request *request, struct worker *worker, sbr_result **result,
                          sbr_error *error)
{
    int wait_ms = rand_r(&worker->chance) % MAX_CANCEL_MS;
    bool cancelled = false;
    sbr_job *job;
    int r = sbr_job_start(all.runtime, request, &job, error);

    if (r < 0)
        return r;
    do {
        struct pollfd fd = { .fd = sbr_job_fd(job), .events = POLLIN };

        if (poll(&fd, 1, cancelled ? STUCK_MS : wait_ms) == 0) {
            if (cancelled)
                errx(1, "a cancelled run does not end");
            sbr_job_cancel(job);
            cancelled = true;
        }
        r = sbr_job_dispatch(job, result, error);
    } while (r == 0);
    sbr_job_free(job);
    return r < 0 ? r : 0;
}

static void run_request(struct worker *worker, const struct line *line, struct sample *sample)
{
    long number = atomic_fetch_add(&all.next_number, 1);
    char *json = with_number(line->json, number);
    sbr_request *request;
    sbr_result *result = NULL;
    sbr_error error = { 0 };

    if (sbr_request_from_json(json, strlen(json), &request, &error) < 0)
        errx(2, "%s: %s", json, error.message);
    sample->begin = now();
    sample->verdict = line->check == CHECK_CANCEL ? run_and_cancel(request, worker, &result, &error)
                                                  : sbr_run(all.runtime, request, &result, &error);
    sample->end = now();
    sample->way = "none";
    if (sample->verdict < 0) {
        complain(error.stage, error.message);
    } else {
        const sbr_report *report = sbr_result_report(result);

        sample->verdict = report->verdict;
        sample->well = is_well(line, number, report);
        sample->way = way_of(result);
        if (!sample->well) {
            char *text = sbr_result_to_json(result);

            complain(json, text ? text : "memory");
            free(text);
        }
        sbr_result_free(result);
    }
    sbr_request_free(request);
    free(json);
}

/* The wait status of one program; the others of its line follow while it is 0. */
static int run_program(char *const *words)
{
    char *environment[MAX_WORDS + 1] = { NULL };
    posix_spawn_file_actions_t actions;
    int status;
    pid_t pid;

    for (size_t i = 0; words[0] && words[0][0] != '/' && strchr(words[0], '='); words++)
        environment[i++] = words[0];

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    errno = posix_spawn(&pid, words[0], &actions, NULL, words, environment);
    if (errno)
        err(2, "%s", words[0]);
    posix_spawn_file_actions_destroy(&actions);
    if (waitpid(pid, &status, 0) < 0)
        err(2, "wait");
    return status;
}

static void run_bare(const struct line *line, struct sample *sample)
{
    size_t at = 0;
    int status = 0;

    sample->begin = now();
    while (at < line->n_words && status == 0) {
        status = run_program((char *const *)line->words + at);
        while (at < line->n_words && line->words[at])
            at++;
        at++;
    }
    sample->end = now();
    sample->way = "bare";
    sample->verdict = SBR_EXITED;
    sample->well = status == 0;
}

static void run_line(struct worker *worker, size_t number)
{
    const struct line *line = &all.lines[number];
    struct sample sample = { .line = number };

    if (line->bare)
        run_bare(line, &sample);
    else
        run_request(worker, line, &sample);
    if (worker->n == worker->room) {
        worker->room = worker->room ? 2 * worker->room : 1024;
        worker->samples = realloc(worker->samples, worker->room * sizeof(sample));
        if (!worker->samples)
            err(2, "memory");
    }
    worker->samples[worker->n++] = sample;
}

/* The modes: what one thread does. */

static void *once(void *pointer)
{
    pthread_barrier_wait(&all.start);
    run_line(pointer, 0);
    return NULL;
}

static void *until_the_end(void *pointer)
{
    pthread_barrier_wait(&all.start);
    while (now() < all.until)
        run_line(pointer, 0);
    return NULL;
}

static void *by_chance(void *pointer)
{
    struct worker *worker = pointer;

    pthread_barrier_wait(&all.start);
    while (atomic_fetch_sub(&all.left, 1) > 0)
        run_line(worker, (size_t)rand_r(&worker->chance) % all.n_lines);
    return NULL;
}

static void in_rounds(struct worker *worker, long rounds, long least_ms, long most_ms)
{
    size_t order[MAX_LINES];

    for (size_t i = 0; i < all.n_lines; i++)
        order[i] = i;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = all.n_lines; i > 1; i--) {
            size_t with = (size_t)rand_r(&worker->chance) % i;
            size_t kept = order[i - 1];

            order[i - 1] = order[with];
            order[with] = kept;
        }
        for (size_t i = 0; i < all.n_lines; i++) {
            pause_ms(least_ms +
                     (most_ms > least_ms ? rand_r(&worker->chance) % (most_ms - least_ms + 1) : 0));
            run_line(worker, order[i]);
        }
    }
}

/* The words of the command line. */

static int verdict_named(const char *name)
{
    static const char *const names[] = { "exited",         "signaled",      "timeout",
                                         "cpu_limit",      "memory_limit",  "output_limit",
                                         "disk_limit",     "process_limit", "denied",
                                         "compile_failed", "cancelled",     "internal_error" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(names[i], name) == 0)
            return SBR_EXITED + (int)i;
    }
    errx(2, "no verdict: %s", name);
}

static void parse_line(char *text, struct line *line)
{
    char *rest;
    char *kind = strtok_r(text, " \n", &rest);

    line->bare = strcmp(kind, "bare") == 0;
    if (!line->bare) {
        const char *verdict = strtok_r(NULL, " ", &rest);
        const char *check = strtok_r(NULL, " ", &rest);

        if (!verdict || !check)
            errx(2, "not a line: %s", kind);
        line->verdict = verdict_named(verdict);
        line->check = strcmp(check, "echo") == 0     ? CHECK_ECHO
                      : strcmp(check, "cancel") == 0 ? CHECK_CANCEL
                                                     : CHECK_NOTHING;
        line->json = strdup(strtok_r(NULL, "\n", &rest));
        return;
    }
    for (char *word; (word = strtok_r(NULL, " \n", &rest));) {
        if (line->n_words == MAX_WORDS)
            errx(2, "too many words");
        line->words[line->n_words++] = strcmp(word, "&&") == 0 ? NULL : strdup(word);
    }
}

static void read_lines(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");

    if (!file)
        err(2, "%s", path);
    while (getline(&text, &room, file) > 0) {
        if (all.n_lines == MAX_LINES)
            errx(2, "%s: too many lines", path);
        parse_line(text, &all.lines[all.n_lines++]);
    }
    free(text);
    fclose(file);
}

static long count_of(const char *text, char **end)
{
    long value = strtol(text, end, 10);

    if (*end == text || value < 0)
        errx(2, "not a count: %s", text);
    return value;
}

static void print_samples(const struct worker *workers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t s = 0; s < workers[i].n; s++) {
            const struct sample *sample = &workers[i].samples[s];

            printf("%zu %lld %lld %s %d %d\n", sample->line, (long long)sample->begin,
                   (long long)sample->end, sample->way, sample->verdict, sample->well);
        }
    }
}

static void in_threads(struct worker *workers, size_t n, void *(*what)(void *), long ms)
{
    if (pthread_barrier_init(&all.start, NULL, (unsigned int)n) != 0)
        errx(2, "no barrier");
    all.until = now() + (int64_t)ms * MS;
    for (size_t i = 0; i < n; i++) {
        workers[i].chance = (unsigned int)(i + 1);
        errno = pthread_create(&workers[i].thread, NULL, what, &workers[i]);
        if (errno)
            err(2, "thread");
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 3 ? argv[1] : "";
    struct worker *workers;
    sbr_error error;
    char *end;
    long first, second = 0, most = 0;
    size_t n_workers;

    if (argc < 4)
        errx(2, "usage: load rounds N PAUSE FILE | rate THREADS MS FILE | burst THREADS FILE | mix "
                "THREADS N FILE");
    first = count_of(argv[2], &end);
    if (argc > 4) {
        second = most = count_of(argv[3], &end);
        if (*end == '-')
            most = count_of(end + 1, &end);
    }
    read_lines(argv[argc - 1]);
    if (sbr_runtime_open(NULL, &all.runtime, &error) < 0)
        errx(2, "%s", error.message);
    /* Another one each time, of eight digits: what an earlier call had compiled is not asked for
     * again. */
    atomic_store(&all.next_number, FIRST_NUMBER + now() / 1000 % (8 * FIRST_NUMBER));
    atomic_store(&all.left, second);
    n_workers = strcmp(mode, "rounds") == 0 ? 1 : (size_t)first;
    workers = calloc(n_workers, sizeof(*workers));
    if (!workers || all.n_lines == 0)
        errx(2, "nothing to do");
    if (strcmp(mode, "rounds") == 0)
        in_rounds(workers, first, second, most);
    else if (strcmp(mode, "rate") == 0)
        in_threads(workers, n_workers, until_the_end, second);
    else if (strcmp(mode, "burst") == 0)
        in_threads(workers, n_workers, once, 0);
    else if (strcmp(mode, "mix") == 0)
        in_threads(workers, n_workers, by_chance, 0);
    else
        errx(2, "no mode: %s", mode);
    print_samples(workers, n_workers);
    for (size_t i = 0; i < n_workers; i++)
        free(workers[i].samples);
    free(workers);
    sbr_runtime_close(all.runtime);
    return 0;
}
