/* What the process of a new session says: a description, or why there is none. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "session/supervisor.h"

#define BEGIN_US 60000000                /* from the program's start to its first sign of life */
#define ANSWER_US (60 * 60 * 1000000ULL) /* from there to its answer: packages take long */

int start_answer_read(const char *text, size_t len, json_t **ret, sbr_error *err)
{
    sbr_error ended; /* in the middle of its answer, or before */
    json_t *answer = json_read(text ? text : "", len, &json_read_line, 0, "the answer", &ended);
    json_t *error;

    if (!answer)
        return err_set(err, SBR_E_SYSTEM, "session",
                       "the session's process was ended before the session began; create it again");
    error = json_object_get(answer, "error");
    if (error) {
        const char *stage = json_string_value(json_object_get(error, "stage"));

        err_set(err, (int)json_integer_value(json_object_get(error, "code")),
                stage ? stage : "session", "%.470s",
                json_string_value(json_object_get(error, "message")));
        json_decref(answer);
        return err->code;
    }
    *ret = answer;
    return 0;
}

/* 1: something came; 0: the end; negative: nothing in time. */
static int read_some(int fd, struct buf *said, uint64_t end_us, sbr_error *err)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    uint64_t now = clock_now_us();
    char *to;
    ssize_t n;

    while (now < end_us && poll(&poll_fd, 1, (int)((end_us - now) / 1000) + 1) <= 0)
        now = clock_now_us();
    if (now >= end_us)
        return err_set(err, SBR_E_SYSTEM, "session",
                       "the session's process gives no answer; create the session again");
    to = buf_extend(said, START_ANSWER_MAX);
    if (!to)
        return err_set(err, SBR_E_BUG, "session", "the session's answer is too long");
    do
        n = read(fd, to, START_ANSWER_MAX);
    while (n < 0 && errno == EINTR);
    said->len -= START_ANSWER_MAX - (size_t)(n > 0 ? n : 0);
    return n > 0;
}

int start_answer_await(int fd, char **ret, sbr_error *err)
{
    uint64_t end_us = clock_now_us() + BEGIN_US;
    json_t *answer = NULL;
    struct buf said;
    int r;

    buf_init(&said, 2 * START_ANSWER_MAX);
    while ((r = read_some(fd, &said, end_us, err)) > 0)
        end_us = clock_now_us() + ANSWER_US;
    if (r == 0)
        r = start_answer_read(said.data, said.len, &answer, err);
    if (r == 0 && !(*ret = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(12))))
        r = err_set_oom(err, "session");
    json_decref(answer);
    buf_done(&said);
    return r;
}
