#include "model/request_save.h"

int request_save_trees(const sbr_request *req, struct save_trees *trees, sbr_error *err)
{
    if (req->project && save_trees_add(trees, req->project, false, err) < 0)
        return err->code;
    for (size_t i = 0; i < req->n_volumes; i++) {
        const struct request_volume *volume = &req->volumes[i];

        if (volume->mode != VOLUME_RO &&
            save_trees_add(trees, volume->source, volume->mode == VOLUME_RW, err) < 0)
            return err->code;
    }
    return 0;
}
