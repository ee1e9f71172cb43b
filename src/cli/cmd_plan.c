#include <stdio.h>

#include "cli/cli.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "lib/runner.h"

static void print_network(const struct plan *plan)
{
    const struct network *network = &plan->egress;

    printf("network    %s%s\n", network_mode_name(plan->network),
           network->allow_dns ? ", every name is looked up" : "");
    for (size_t i = 0; i < network->n_rules; i++)
        printf("host       %s\n", network->rules[i].text);
}

/* The same facts as the JSON form, one line each. */
static void print_text(const struct plan *plan)
{
    char value[32];

    printf("isolation  %s\n", request_tier_name(plan->isolation.tier));
    for (size_t i = 0; i < plan->isolation.n_mechanisms; i++)
        printf("with       %s\n", plan->isolation.mechanisms[i]);
    for (size_t i = 0; i < plan->isolation.n_missing; i++)
        printf("without    %s\n", plan->isolation.missing[i]);
    for (size_t i = 0; i < plan->n_ops; i++)
        printf("%-10s /%s%s%s\n", plan_op_name(plan->ops[i].kind), plan->ops[i].to,
               plan->ops[i].from ? " <- " : "", plan->ops[i].from ? plan->ops[i].from : "");
    print_network(plan);
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        limits_format((enum sbr_limit)i, plan->limits.value[i], value, sizeof(value));
        printf("limit      %s %s\n", limit_defs[i].option, value);
    }
    printf("seccomp    %zu instructions\nlandlock   %zu rules\n", plan_filter_len(plan),
           plan->n_rules);
    printf("workdir    %s\n", plan->workdir);
    for (const char **entry = plan->env; *entry; entry++)
        printf("env        %s\n", *entry);
    printf("run       ");
    for (const char **word = plan->argv; *word; word++)
        printf(" %s", *word);
    printf("\n");
}

static int plan_run(struct options *o)
{
    sbr_runtime *runtime = NULL;
    scoped_free char *json = NULL;
    struct source source;
    struct plan *plan = NULL;
    sbr_error err;
    int status = 0;

    if (source_load(o, &source, &err) < 0 || settings_apply(o, &err) < 0 ||
        runner_open(RUNNER_PLAN, false, &runtime, &err) < 0 ||
        runner_plan(runtime, o->request, &plan, &err) < 0) {
        status = cli_fail(o, &err);
    } else if (o->json) {
        json = plan_to_json(plan, present_has_lines());
        printf("%s\n", json ? json : "{}");
    } else {
        print_text(plan);
    }
    plan_free(plan);
    sbr_runtime_close(runtime);
    return status;
}

const struct command cmd_plan = {
    .name = "plan",
    .usage = "[OPTIONS] [FILE | DIR | -] [ARG...] [-- ARG...]",
    .help = "print the steps that a run would take, without taking them",
    .examples = "Example:\n  sandbox-run plan --lang bash --code 'ls' --json\n",
    .options = (const struct option *const[]){ options_program, options_language_file,
                                               options_trees, options_network, options_isolation,
                                               options_report, options_config, options_look,
                                               options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .arguments = true,
    .run = plan_run,
};
