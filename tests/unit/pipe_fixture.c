#include "pipe_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "unit.h"

void pipe_fixture_init(struct pipe_fixture *f)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    int ends[2];
    sbr_error err;

    sigaction(SIGPIPE, &ignore, NULL);
    assert_int_equal(loop_init_timers(&f->loop, "test", &err), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    f->read_end = ends[0];
    f->write_end = ends[1];
}

void pipe_fixture_done(struct pipe_fixture *f)
{
    loop_done(&f->loop);
    pipe_fixture_close(&f->read_end);
    pipe_fixture_close(&f->write_end);
}

void pipe_fixture_close(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

size_t pipe_fixture_shrink(struct pipe_fixture *f)
{
    int size = fcntl(f->write_end, F_SETPIPE_SZ, 4096);

    assert_true(size > 0);
    return (size_t)size;
}

const char *pipe_fixture_read(struct pipe_fixture *f)
{
    static char text[1 << 17];
    ssize_t n = read(f->read_end, text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

void pipe_fixture_turn(struct pipe_fixture *f)
{
    struct pollfd fd = { .fd = loop_fd(&f->loop), .events = POLLIN };

    assert_int_equal(poll(&fd, 1, 10000), 1); /* a deadline, not a pause */
    assert_true(loop_turn(&f->loop, 0) >= 0);
}
