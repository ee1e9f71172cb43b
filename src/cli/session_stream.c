/* --stream of what has an answer but no events: lines like those of a run, the last one `end`. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "cli/session_actions.h"

/* Every answer is an event; `last`: no further one follows. */
static void print_answer(const json_t *answer, size_t seq, uint64_t began_us, bool last)
{
    json_t *event =
        json_pack("{s:s, s:I, s:f, s:O}", "type", last ? "end" : "answer", "seq", (json_int_t)seq,
                  "time_ms", (double)(clock_now_us() - began_us) / 1000, "result", answer);
    scoped_free char *line =
        event ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

    json_decref(event);
    if (line)
        puts(line);
}

/* The next line's; NULL: there is none. */
static json_t *next_answer(FILE *from)
{
    scoped_free char *line = NULL;
    size_t size = 0;

    return getline(&line, &size, from) < 0 ? NULL : json_read_own(line, JSON_ALLOW_NUL);
}

static void print_answers(FILE *from, uint64_t began_us)
{
    json_t *answer = next_answer(from), *next;

    for (size_t seq = 0; answer; seq++) {
        next = next_answer(from);
        print_answer(answer, seq, began_us, !next);
        json_decref(answer);
        answer = next;
    }
}

/* An action prints its answers to stdout, which is a file of ours in memory meanwhile. */
int session_stream_answers(const struct options *o,
                           int (*run)(const struct options *o, sbr_error *err), sbr_error *err)
{
    uint64_t began_us = clock_now_us();
    struct options own = *o;
    scoped_fd int saved = -1, fd = -1;
    FILE *answers;
    int r;

    own.json = true;
    own.stream = false;
    fflush(stdout);
    saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    fd = memfd_create("answers", MFD_CLOEXEC);
    if (saved < 0 || fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        return err_set_errno(err, "session", "cannot collect the answer");
    r = run(&own, err);
    fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    answers = lseek(fd, 0, SEEK_SET) == 0 ? fdopen(fd, "r") : NULL;
    if (!answers)
        return err_set_errno(err, "session", "cannot read the answer");
    (void)take_fd(fd);
    print_answers(answers, began_us);
    (void)fclose(answers);
    return r;
}
