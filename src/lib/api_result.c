/* sbr_result: what happened. */
#include "model/result.h"

const sbr_report *sbr_result_report(const sbr_result *r)
{
    return r ? &r->report : NULL;
}

char *sbr_result_to_json(const sbr_result *r)
{
    return r ? result_to_json(r) : NULL;
}

const char *sbr_result_changes_id(const sbr_result *r)
{
    return r && r->changes_id[0] ? r->changes_id : NULL;
}

const char *sbr_result_output_id(const sbr_result *r)
{
    return r && r->output_id[0] ? r->output_id : NULL;
}

void sbr_result_free(sbr_result *r)
{
    result_free(r);
}
