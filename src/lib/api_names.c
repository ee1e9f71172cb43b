/* Words for the numbers of sandboxrun.h. */
#include "model/limits.h"
#include "model/result.h"

const char *sbr_verdict_name(int verdict)
{
    if (verdict < SBR_EXITED || verdict > SBR_INTERNAL_ERROR)
        return NULL;
    return result_verdict_name((enum sbr_verdict)verdict);
}

const char *sbr_code_name(int code)
{
    return code <= SBR_OK && code >= SBR_E_BUG ? err_code_name(code) : NULL;
}

const char *sbr_limit_name(int limit)
{
    return limit >= 0 && limit < N_LIMITS ? limit_defs[limit].name : NULL;
}
