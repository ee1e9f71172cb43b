/* Workspaces of a tenant, in number and bytes. */
#include <string.h>

#include "admit/admit.h"
#include "workspace/workspace.h"

/* The tenant's workspaces together. */
struct workspace_sum {
    const struct grant *grant;
    const char *wanted;
    unsigned int n;
    uint64_t bytes;
    bool found;
};

static int add_workspace(void *context, const struct workspace_info *info)
{
    struct workspace_sum *sum = context;
    size_t len = strlen(sum->grant->name);

    if (strncmp(info->name, sum->grant->name, len) != 0 || info->name[len] != '.')
        return 0;
    sum->n++;
    sum->bytes += info->used_bytes;
    sum->found |= !strcmp(info->name, sum->wanted);
    return 0;
}

/* Made at once, so that the next one that asks counts it. */
static int make_workspace(const char *name, sbr_error *err)
{
    struct workspace workspace;
    int r = workspace_open(name, true, (struct workspace_quota){ 0 }, &workspace, err);

    if (r < 0)
        return -1;
    workspace_close(&workspace);
    return 0;
}

static int check_workspaces(const struct grant *grant, const char *name, struct refusal *refusal)
{
    struct workspace_sum sum = { .grant = grant, .wanted = name };

    if (workspace_list(add_workspace, &sum, &refusal->err) < 0)
        return -1;
    if (grant->workspaces && !sum.found && sum.n >= grant->workspaces)
        return refusal_set(refusal, REFUSED_FULL, BOUND_WORKSPACES, "workspace",
                           "the tenant has %u workspaces, as many as its token allows; remove one "
                           "first",
                           sum.n);
    if (grant->workspace_bytes && sum.bytes >= grant->workspace_bytes)
        return refusal_set(refusal, REFUSED_FULL, BOUND_WORKSPACES, "workspace",
                           "the tenant's workspaces have as many bytes as its token allows; remove "
                           "one first");
    return sum.found || !grant->workspaces ? 0 : make_workspace(name, &refusal->err);
}

int admit_workspace(struct ledger *ledger, const struct grant *grant, const sbr_request *req,
                    struct refusal *refusal)
{
    int r;

    if (!req->workspace || grant->local)
        return 0;
    pthread_mutex_lock(&ledger->workspaces);
    r = check_workspaces(grant, req->workspace, refusal);
    pthread_mutex_unlock(&ledger->workspaces);
    return r;
}
