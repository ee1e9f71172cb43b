/* sbr_job: what is happening in it, and what it uses. */
#include <string.h>

#include "lib/job_client.h"

#define METRICS_MIN_MS 10

static void stage_begins(void *context, enum stage stage)
{
    sbr_job *job = context;
    sbr_event event = { .type = SBR_EVENT_STAGE };

    job->client->stage = stage_name(stage);
    job_client_report(job, &event);
}

static void tree_copied(void *context, uint64_t files, uint64_t bytes)
{
    sbr_event event = { .type = SBR_EVENT_PROGRESS, .files = files, .bytes = bytes };

    job_client_report(context, &event);
}

static void engine_queues(void *context, unsigned int before)
{
    sbr_event event = { .type = SBR_EVENT_QUEUE, .queue_before = before };

    job_client_report(context, &event);
}

static void was_denied(void *context, const struct denial *one)
{
    sbr_event event = { .type = SBR_EVENT_DENIAL,
                        .kind = denial_kind_name((enum denial_kind)one->kind),
                        .target = one->target,
                        .rule = one->rule,
                        .remedy = one->remedy[0] ? one->remedy : NULL };

    job_client_report(context, &event);
}

static void port_opened(void *context, const struct publish_rule *rule)
{
    char target[PUBLISH_TEXT_SIZE];
    sbr_event event = { .type = SBR_EVENT_PORT,
                        .target = publish_text(rule, target),
                        .port = rule->port,
                        .inside_port = rule->inside };

    job_client_report(context, &event);
}

int sbr_job_on_event(sbr_job *job, sbr_event_fn *fn, void *context)
{
    if (!job_client_is_new(job))
        return SBR_E_INVALID;
    job->client->on_event = fn;
    job->client->event_context = context;
    job->on_stage = stage_begins;
    job->on_copy = tree_copied;
    job->on_queue = engine_queues;
    job->on_denial = was_denied;
    job->on_port = port_opened;
    job->on_stage_context = job;
    return 0;
}

int sbr_job_set_metrics_every(sbr_job *job, unsigned int ms)
{
    if (!job_client_is_new(job) || (ms && ms < METRICS_MIN_MS))
        return SBR_E_INVALID;
    job->client->metrics_every_us = (uint64_t)ms * 1000;
    return 0;
}

int sbr_job_metrics(const sbr_job *job, sbr_metrics *ret)
{
    sbr_metrics all;
    size_t size;

    if (!job || !ret || ret->struct_size < sizeof(ret->struct_size))
        return SBR_E_INVALID;
    size = ret->struct_size < sizeof(all) ? ret->struct_size : sizeof(all);
    job_client_metrics(job, &all);
    all.struct_size = ret->struct_size; /* the caller's may be older, and shorter */
    memcpy(ret, &all, size);
    return 0;
}
