#include "sandbox/mount_below.h"

#include <string.h>

int page_error_read(const sbr_error *shared, sbr_error *ret)
{
    char *retry = &ret->stage[sizeof(ret->stage) - 1];

    memcpy(ret, shared, sizeof(*ret));
    if (ret->code > SBR_E_INVALID || ret->code < SBR_E_BUG)
        ret->code = SBR_E_BUG;
    if (*retry < ERR_FINAL || *retry > ERR_UNDER_OWN_NAMES || ret->code != SBR_E_UNSUPPORTED)
        *retry = ERR_FINAL;
    retry[-1] = '\0';
    err_clean(ret->stage);
    ret->message[sizeof(ret->message) - 1] = '\0';
    err_clean(ret->message);
    return ret->code;
}
