#include "job/job_trees.h"

/* clang-format off */
static const struct {
    enum stage maker;
    enum store_kind kind;
    bool locked; /* one process makes it, others wait */
} rows[N_LAYERS] = {
    [LAYER_PREPARED] = { STAGE_PREPARE, STORE_PREPARED, true  },
    [LAYER_DEPS]     = { STAGE_INSTALL, STORE_LAYER,    true  },
    [LAYER_BUILD]    = { STAGE_COMPILE, STORE_ARTIFACT, false },
};
/* clang-format on */

enum store_kind job_layers_kind(enum layer layer)
{
    return rows[layer].kind;
}

static enum layer layer_of(enum stage stage)
{
    unsigned int i = 0;

    while (i < N_LAYERS && rows[i].maker != stage)
        i++;
    return (enum layer)i;
}

enum layer_found job_layers_find(sbr_job *job, enum layer layer, sbr_error *err)
{
    int r = store_find(rows[layer].kind, job->keys[layer], &job->layers[layer], err);

    if (r == STORE_SOUND && !job->held[layer]) {
        job->held[layer] = store_hold(&job->layers[layer]) + 1;
        if (!job->held[layer]) { /* it is being removed */
            job->layers[layer].path[0] = '\0';
            r = STORE_ABSENT;
        }
    }
    return r < 0 ? LAYER_ERROR : r == STORE_ABSENT ? LAYER_TO_MAKE : LAYER_THERE;
}

static int lock_layer(sbr_job *job, enum layer layer, sbr_error *err)
{
    int r = store_lock(rows[layer].kind, job->keys[layer], &job->now.lock_fd, err);

    if (r < 0 && layer_memory_begin(job, err))
        r = store_lock(rows[layer].kind, job->keys[layer], &job->now.lock_fd, err);
    return r;
}

static int stage_layer(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;
    enum store_kind kind = rows[now->layer].kind;
    int r;

    if (store_memory_is_needed())
        (void)layer_memory_begin(job, NULL);
    r = store_stage(kind, &now->staging, err);
    if (r < 0 && layer_memory_begin(job, err))
        r = store_stage(kind, &now->staging, err);
    return r;
}

enum layer_found job_layers_take_turn(sbr_job *job, enum stage stage, sbr_error *err)
{
    enum layer layer = layer_of(stage);
    int r;

    job->now.layer = layer;
    if (layer == N_LAYERS || !rows[layer].locked)
        return LAYER_TO_MAKE;
    r = lock_layer(job, layer, err);
    if (r != STORE_LOCKED)
        return r < 0 ? LAYER_ERROR : LAYER_BUSY;
    return job_layers_find(job, layer, err);
}

int job_layers_open(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;

    if (now->layer == N_LAYERS)
        return 0;
    if (stage_layer(job, err) < 0)
        return err->code;
    now->staged = true;
    now->part = (struct collect_part){ .dir_fd = now->staging.tree_fd };
    collect_reader_init(&now->collect_reader, &now->part, 1, now->limits.value[SBR_DISK_BYTES],
                        now->limits.value[SBR_INODES]);
    now->collecting = true;
    return 0;
}
