#include "job/job_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_output_describe(const sbr_job *job, char *about, size_t size)
{
    const sbr_request *req = job->req;
    const char *program = req->program   ? req->program
                          : req->code    ? "code"
                          : req->n_files ? req->files[0].path
                                         : "";
    const char *name = getenv("SANDBOX_RUN_NAME");
    size_t used = (size_t)snprintf(about, size, "%.64s%s%.60s%s%.100s", name ? name : "",
                                   name ? ":" : "", req->language ? req->language : "",
                                   req->language && program[0] ? " " : "", program);

    for (size_t i = 0; i < req->args.n && used < size; i++)
        used += (size_t)snprintf(about + used, size - used, "%s%.60s", used ? " " : "",
                                 req->args.items[i]);
}

static void keep_stdout(void *context, const char *data, size_t len)
{
    kept_output_write(context, KEPT_STDOUT, data, len);
}

static void keep_stderr(void *context, const char *data, size_t len)
{
    kept_output_write(context, KEPT_STDERR, data, len);
}

void job_output_begin(sbr_job *job, struct monitor_options *options)
{
    struct kept_output_bounds bounds = kept_output_bounds;
    char about[KEPT_OUTPUT_ABOUT];

    if (!job->req->keep_output)
        return;
    if (job->req->keep_seconds)
        bounds.seconds = (int64_t)job->req->keep_seconds;
    if (job->req->keep_bytes)
        bounds.all_bytes = job->req->keep_bytes;
    if (bounds.run_bytes > bounds.all_bytes / 4)
        bounds.run_bytes = bounds.all_bytes / 4;
    job->keep_failure.code = 0;
    job_output_describe(job, about, sizeof(about));
    /* A stage that is started once more has one already. */
    if (!job->kept.about.id[0] &&
        kept_output_begin(&bounds, about, &job->kept, &job->keep_failure) < 0)
        return;
    options->file_out = (struct capture_sink){ keep_stdout, &job->kept };
    options->file_err = (struct capture_sink){ keep_stderr, &job->kept };
}

void job_output_end(sbr_job *job, sbr_result *result)
{
    size_t used = result ? strlen(result->explanation) : 0;
    bool began = job->kept.about.id[0], any;

    if (!began && !job->keep_failure.code)
        return;
    if (began && kept_output_end(&job->kept, &job->keep_failure) == 0)
        job->keep_failure.code = 0;
    any = job->kept.about.kept[KEPT_STDOUT] || job->kept.about.kept[KEPT_STDERR];
    if (result && began && (any || !job->keep_failure.code)) {
        memcpy(result->output_id, job->kept.about.id, sizeof(result->output_id));
        result->output_cut = job->keep_failure.code != 0;
    }
    if (result && job->keep_failure.code) {
        result->lost = true;
        snprintf(result->explanation + used, sizeof(result->explanation) - used, "%s%.200s",
                 used ? "; " : "", job->keep_failure.message);
    }
    job->kept.about.id[0] = '\0';
    job->keep_failure.code = 0;
}
