#include "cli/cmd_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "changes/state_dir.h"
#include "work/results.h"

#define STATE_TESTS "tests"
#define MOST_BYTES (64u << 20)

/* A project and its runner have one file. */
static void name_file(const char *dir, const char *runner, char name[RESULTS_DIGEST_SIZE])
{
    struct buf key;

    buf_init(&key, 16384);
    buf_printf(&key, "%s\n%s", runner, dir);
    results_digest(key.data ? key.data : "", key.len, name);
    buf_done(&key);
}

/* "NAME\tFILE\n"; neither has control characters. */
static int put_failed(int fd, const struct report *report)
{
    struct buf out;
    int r;

    buf_init(&out, MOST_BYTES);
    for (size_t i = 0; i < report->n; i++) {
        const struct report_case *c = &report->cases[i];

        if (c->outcome == CASE_FAILED || c->outcome == CASE_BROKEN)
            buf_printf(&out, "%s\t%s\n", c->name, c->file ? c->file : "");
    }
    r = out.failed ? -1 : fd_write_all(fd, out.data ? out.data : "", out.len);
    buf_done(&out);
    return r;
}

void test_memory_save(const char *dir, const char *runner, const struct report *report)
{
    char name[RESULTS_DIGEST_SIZE], temporary[RESULTS_DIGEST_SIZE + 24];
    struct state_dir state = { .fd = -1 };
    scoped_fd int fd = -1;
    sbr_error none;

    if (state_open(STATE_TESTS, true, &state, &none) <= 0)
        return;
    name_file(dir, runner, name);
    snprintf(temporary, sizeof(temporary), "%s.%d", name, (int)getpid());
    fd = openat(state.fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 &&
        (put_failed(fd, report) < 0 || renameat(state.fd, temporary, state.fd, name) < 0))
        (void)unlinkat(state.fd, temporary, 0);
    state_close(&state);
}

static int take_line(struct report *ret, char *line, sbr_error *err)
{
    char *tab = strchr(line, '\t');
    struct report_case *c;

    if (!tab)
        return 0;
    *tab = '\0';
    c = test_report_add(ret, NULL, line, err);
    if (!c)
        return err->code;
    c->outcome = CASE_FAILED;
    test_report_set_place(ret, c, tab + 1, strlen(tab + 1), 0);
    return 0;
}

int test_memory_load(const char *dir, const char *runner, struct report *ret, sbr_error *err)
{
    scoped_free char *text = NULL;
    char name[RESULTS_DIGEST_SIZE], *rest, *line;
    struct state_dir state = { .fd = -1 };
    scoped_fd int fd = -1;
    size_t len = 0;
    int r = state_open(STATE_TESTS, false, &state, err);

    if (r < 0)
        return r;
    name_file(dir, runner, name);
    if (r > 0)
        fd = openat(state.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    state_close(&state);
    if (fd >= 0 && fd_read_text(fd, MOST_BYTES, &text, &len, err) < 0)
        return err->code;
    for (rest = text; rest && (line = strsep(&rest, "\n"));)
        if (take_line(ret, line, err) < 0)
            return err->code;
    return ret->n ? 0
                  : err_set(err, SBR_E_NOT_FOUND, "test",
                            "no case of this project failed last time; leave out --failed");
}
