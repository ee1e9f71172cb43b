#include "image/image_store.h"

int image_store_open(const char *ref, struct image *ret, sbr_error *err)
{
    (void)ret;
    return err_set(err, SBR_E_NOT_FOUND, "image",
                   "there is no image '%.150s' here; `sandbox-run image pull %.150s` brings it", ref,
                   ref);
}
