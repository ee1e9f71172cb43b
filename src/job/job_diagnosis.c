/* Finds the line of the program that an error is about. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "changes/node.h"
#include "explain/denial_text.h"
#include "explain/diagnose.h"
#include "explain/ending.h"
#include "job/job_steps.h"
#include "job/job_trees.h"

#define PROGRAM_MAX (1u << 20) /* what is longer is not shown */

static const char *main_file(const sbr_job *job)
{
    if (job->req->program)
        return job->req->program;
    if (job->req->code)
        return job->trees && job->trees->code_name[0] ? job->trees->code_name
                                                      : job->language->source;
    return job->req->n_files ? job->req->files[0].path : NULL;
}

/* The lines of a program of the project are not in the request but on the host.  Links are not
 * followed: an earlier run may have made one, and it leads elsewhere on the host than inside. */
static char *read_program(const sbr_job *job, size_t *ret_len)
{
    int top = job->req->program && job->trees && job->trees->n ? job->trees->at[0].source_fd : -1;
    scoped_fd int fd = top < 0 ? -1 : node_open(top, job->req->program, O_RDONLY);
    char *text = NULL;
    sbr_error ignored;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        fd_read_text(fd, PROGRAM_MAX, &text, ret_len, &ignored) < 0)
        return NULL;
    return text;
}

/* `origin` is a directory that the caller has named; a link in it is as good as a file. */
static bool is_beside(const char *origin, const char *name)
{
    scoped_fd int dir = open(origin, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    return dir >= 0 && fstatat(dir, name, &st, 0) == 0;
}

static struct diagnosis *diagnose_text(const sbr_job *job, const sbr_result *said, const char *text,
                                       size_t len)
{
    size_t program_len = 0;
    scoped_free char *program = read_program(job, &program_len);
    struct request_file file = { .path = job->req->program, .data = program, .len = program_len };
    sbr_request seen = *job->req;
    char signal[SIGNAL_NAME_SIZE], work[sizeof(job->run_dir) + 16],
        driver[sizeof(job->run_dir) + 16];
    struct diagnose_input in = { .language = job->language,
                                 .text = text,
                                 .len = len,
                                 .compile = said != job->result,
                                 .request = &seen,
                                 .work = work,
                                 .driver = driver,
                                 .origin = job->req->origin,
                                 .is_beside = is_beside,
                                 .main_file = main_file(job),
                                 .code_line = job->req->code_line,
                                 .code_lines = job->req->code_lines };

    if (program) {
        seen.files = &file;
        seen.n_files = 1;
    }
    snprintf(work, sizeof(work), "%s" INSIDE_WORK, job->run_dir);
    snprintf(driver, sizeof(driver), "%s/driver", job->run_dir);
    if (said->verdict == SBR_SIGNALED)
        in.ending = result_signal_name(said->signal, signal);
    else if (said->verdict != SBR_EXITED)
        in.ending = result_verdict_name(said->verdict);
    return diagnose(&in);
}

/* A compiler's first error is the one that matters. */
static struct diagnosis *diagnose_stream(const sbr_job *job, const sbr_result *said,
                                         const struct output *stream)
{
    size_t len;
    const char *end = result_output_end(stream, &len);

    if (stream->data)
        return diagnose_text(job, said, stream->data, stream->len);
    return diagnose_text(job, said, end, len);
}

/* Programs say at the end why they end. */
static struct diagnosis *diagnose_program(const sbr_job *job, const sbr_result *said)
{
    scoped_last_words struct last_words last = last_words_of(said);

    return diagnose_text(job, said, last.text, last.len);
}

/* Compilers write errors to either stream, programs to stderr. */
void job_diagnose(const sbr_job *job, sbr_result *result)
{
    const sbr_result *said = result;

    if (!job->language || job->language == &job->tools || result_success(result) ||
        result->verdict == SBR_CANCELLED)
        return;
    if (!result->ran)
        said = result->n_before ? result->before[result->n_before - 1] : NULL;
    if (!said)
        return;
    if (said == job->result)
        result->diagnosis = diagnose_program(job, said);
    else
        result->diagnosis = diagnose_stream(job, said, &said->err);
    if (!result->diagnosis && !result->ran)
        result->diagnosis = diagnose_stream(job, said, &said->out);
}

/* Of the program's own files; packages are not looked into. */
void job_find_uses(const sbr_job *job, sbr_result *result)
{
    const sbr_request *req = job->req;
    const char *literal = job->language ? job->language->literal : NULL;
    scoped_free char *program = NULL;
    uint64_t found = 0;
    size_t len = 0;
    sbr_error ignored;

    if (!literal || job->language == &job->tools)
        return;
    program = read_program(job, &len);
    if (program)
        found |= sensitive_find(literal, program, len);
    if (req->code)
        found |= sensitive_find(literal, req->code, req->code_len);
    for (size_t i = 0; i < req->n_files; i++)
        if (i == 0 || language_for_extension(req->files[i].path) == job->language)
            found |= sensitive_find(literal, req->files[i].data, req->files[i].len);
    (void)!sensitive_name(literal, found, &result->uses, &ignored);
}
