
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/signal_fd.h"
#include "cli/measured.h"
#include "work/function_samples.h"

#define SHOWN 20
#define NAME_SIZE 160

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

/* A signal that came meanwhile ends us here, when nothing is left behind. */
static void let_signals_through(int stop_fd)
{
    sigset_t set;

    close(stop_fd);
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int profile_functions_run(sbr_runtime *rt, const sbr_request *req, struct save_file *stacks,
                          struct functions *ret, sbr_error *err)
{
    int stop_fd = signal_fd_open(numbers, ARRAY_LEN(numbers)), r;
    char *text = NULL;
    size_t len = 0;

    if (stop_fd < 0)
        return err_set_errno(err, "profile", "cannot wait for signals");
    r = function_samples_take(rt, req, stop_fd, &text, &len, err);
    let_signals_through(stop_fd);
    if (r == 0 && stacks)
        r = save_file_write(stacks, text, len, err);
    if (r < 0) {
        free(text);
        return r;
    }
    return functions_read(text, len, ret, err);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

void profile_functions_print(const struct functions *f)
{
    char name[NAME_SIZE], sum[40];

    if (!f->n) {
        printf("\nfunctions: no sample was taken; the program ended too soon for one\n");
        return;
    }
    measured_time(f->sum_us, sum, sizeof(sum));
    printf("\nfunctions, by samples of %s%s\n%8s %8s\n", sum, f->cut ? " and more" : "", "self",
           "total");
    for (size_t i = 0; i < f->n && i < SHOWN; i++) {
        functions_name(&f->uses[i], name, sizeof(name));
        printf("%6.1f %% %6.1f %%  %s\n", percent(f->uses[i].self_us, f->sum_us),
               percent(f->uses[i].total_us, f->sum_us), name);
    }
    if (f->n > SHOWN)
        printf("%19s%zu more; --json has them\n", "", f->n - SHOWN);
}
