/* Layers of the store: which stage makes which one, and their keys. */
#ifndef JOB_JOB_LAYERS_H
#define JOB_JOB_LAYERS_H

#include "job/job_types.h"

enum layer_found {
    LAYER_THERE,   /* the job's layer is filled        */
    LAYER_TO_MAKE, /* or the stage makes no layer      */
    LAYER_BUSY,    /* another process makes the same one */
    LAYER_ERROR
};

enum store_kind job_layers_kind(enum layer layer);
/* Never LAYER_BUSY. */
enum layer_found job_layers_find(sbr_job *job, enum layer layer, sbr_error *err) must_check;
/* Before a stage begins.  With LAYER_TO_MAKE this job alone makes the layer. */
enum layer_found job_layers_take_turn(sbr_job *job, enum stage stage, sbr_error *err) must_check;
/* Makes a directory in the store for what the current stage leaves, if it makes a layer. */
int job_layers_open(sbr_job *job, sbr_error *err) must_check;

/* Everything that can change what a stage leaves is a part of its layer's key. */
void layer_key_prepared(sbr_job *job);
/* 1; 0: the job has no dependencies; negative: error.  Reads the configuration of the installer,
 * which is a part of the key. */
int layer_key_dependencies(sbr_job *job, sbr_error *err) must_check;
void layer_key_artifact(sbr_job *job);

/* Puts the cache of this process into memory when the failure was a full disk; NULL: it is known to
 * be full.  False: it cannot, or that was not the reason. */
bool layer_memory_begin(sbr_job *job, const sbr_error *failure);
/* The same after a stage whose layer cannot be kept.  True: the stage can be started once more;
 * else the message says which disk is full, if that is why. */
bool layer_memory_restart(sbr_job *job, sbr_error *err);

#endif
