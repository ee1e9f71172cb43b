/* doctor: each mechanism, what was found, what is missing, the lines that mend it; then a trial. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "executor/executor.h"
#include "frontend/cli.h"
#include "frontend/present.h"
#include "sandbox/probe.h"

enum finding_state { FOUND, WEAKER, MISSING };

struct finding {
    const char *name;
    enum finding_state state;
    char found[480];
    const char *fix[2]; /* lines for a shell, or NULL */
};

typedef void check_fn(const struct features *f, struct finding *finding);

static void check_user_namespaces(const struct features *f, struct finding *finding)
{
    if (f->user_namespaces) {
        snprintf(finding->found, sizeof(finding->found), "allowed for uid %u", f->uid);
        return;
    }
    finding->state = MISSING;
    snprintf(finding->found, sizeof(finding->found), "forbidden for uid %u", f->uid);
    finding->fix[0] = "sudo sysctl -w user.max_user_namespaces=15000";
    finding->fix[1] = "sudo sysctl -w kernel.unprivileged_userns_clone=1";
}

/* Groups can be given to an ordinary user; which lines do it depends on the version. */
static const char *const v1_fix[] = {
    "for c in memory pids cpuacct cpu; do sudo mkdir -p /sys/fs/cgroup/$c/$USER && sudo chown -R "
    "$(id -u) /sys/fs/cgroup/$c/$USER; done",
    "for c in memory pids cpuacct cpu; do echo $$ | sudo tee /sys/fs/cgroup/$c/$USER/tasks; done",
};
static const char *const v2_fix[] = {
    "systemd-run --user --scope -p Delegate=yes $SHELL",
    "sandbox-run doctor   # in that shell",
};

static void check_controller(const struct features *f, enum cgroup_controller which,
                             struct finding *finding)
{
    const struct cgroup_features *cg = &f->cgroup;

    if (cg->usable & 1u << which) {
        snprintf(finding->found, sizeof(finding->found), "cgroup %s at %.150s",
                 cgroup_kind_name(cg->kind), cg->parent[cg->kind == CGROUP_V2 ? 0 : which]);
        return;
    }
    finding->state = MISSING;
    snprintf(finding->found, sizeof(finding->found), "no cgroup that uid %u may use", f->uid);
    memcpy(finding->fix, access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ? v2_fix : v1_fix,
           sizeof(finding->fix));
}

static void check_memory(const struct features *f, struct finding *finding)
{
    check_controller(f, CG_MEMORY, finding);
}

static void check_pids(const struct features *f, struct finding *finding)
{
    check_controller(f, CG_PIDS, finding);
}

static void check_cpuacct(const struct features *f, struct finding *finding)
{
    check_controller(f, CG_CPUACCT, finding);
}

static void check_cpu(const struct features *f, struct finding *finding)
{
    check_controller(f, CG_CPU, finding);
    if (finding->state == MISSING)
        finding->state = WEAKER; /* only --cpus needs it */
}

static void check_seccomp(const struct features *f, struct finding *finding)
{
    snprintf(finding->found, sizeof(finding->found), f->seccomp ? "filters" : "not in this kernel");
    if (!f->seccomp)
        finding->state = MISSING;
}

static void check_landlock(const struct features *f, struct finding *finding)
{
    if (f->landlock_abi) {
        snprintf(finding->found, sizeof(finding->found), "ABI %d", f->landlock_abi);
        return;
    }
    finding->state = WEAKER;
    snprintf(finding->found, sizeof(finding->found), "not active; a second layer is missing");
    finding->fix[0] = "cat /sys/kernel/security/lsm   # must name landlock (Linux 5.13)";
    finding->fix[1] = "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&lsm=landlock,lockdown,yama /' "
                      "/etc/default/grub && sudo update-grub && sudo reboot";
}

static void check_core_pattern(const struct features *f, struct finding *finding)
{
    char text[256] = "";

    (void)f;
    (void)fd_read_small(AT_FDCWD, "/proc/sys/kernel/core_pattern", text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    snprintf(finding->found, sizeof(finding->found), "%.60s%s", text,
             *text == '|' ? " (a handler on the host; sandboxed programs never reach it)" : "");
}

/* clang-format off */
static const struct {
    const char *name;
    check_fn *check;
} checks[] = {
    { "user namespaces",   check_user_namespaces },
    { "memory limit",      check_memory          },
    { "process limit",     check_pids            },
    { "processor time",    check_cpuacct         },
    { "processor quota",   check_cpu             },
    { "seccomp",           check_seccomp         },
    { "landlock",          check_landlock        },
    { "core dumps",        check_core_pattern    },
};
/* clang-format on */

#define N_CHECKS ARRAY_LEN(checks)

/* The proof: a real run at the tier that is the default. */
static void try_run(sbr_runtime *runtime, struct finding *finding)
{
    sbr_request *req = NULL;
    sbr_job *job = NULL;
    sbr_result *result = NULL;
    sbr_error err;
    int r;

    finding->name = "trial run";
    r = request_new(NULL, NULL, &req, &err);
    if (r == 0)
        r = request_add_arg(req, "true", &err);
    if (r == 0)
        r = executor_start(runtime, req, NULL, &job, &err);
    while (r == 0)
        r = monitor_turn(&job->monitor, true, &err);
    if (r > 0)
        r = monitor_take_result(&job->monitor, &result, &err);
    if (r < 0 || !result) {
        finding->state = MISSING;
        snprintf(finding->found, sizeof(finding->found), "%s", err.message);
    } else {
        finding->state = result_success(result) ? FOUND : MISSING;
        snprintf(finding->found, sizeof(finding->found), "isolation %s, %s, started in %.1f ms",
                 tier_name(result->isolation.tier), verdict_name(result->verdict),
                 (double)result->usage.startup_us / 1000);
    }
    result_free(result);
    executor_free(job);
    request_free(req);
}

static const char *const state_names[] = { "ok", "weaker", "missing" };

static void print_finding(const struct finding *finding, const struct options *o)
{
    static const char *const colors[] = { "\x1b[32m", "\x1b[33m", "\x1b[31m" };
    bool color = present_uses_color(STDOUT_FILENO, o);

    printf("%s%-8s%s %-16s %s\n", color ? colors[finding->state] : "", state_names[finding->state],
           color ? "\x1b[0m" : "", finding->name, finding->found);
    for (size_t i = 0; i < ARRAY_LEN(finding->fix); i++)
        if (finding->fix[i] && finding->state != FOUND)
            printf("           %s\n", finding->fix[i]);
}

static void print_languages(void)
{
    for (size_t i = 0; language_table[i]; i++) {
        const char *binary = executor_locate(language_table[i]);

        printf("%-8s %-16s %s%s\n", binary ? "ok" : "missing", language_table[i]->name,
               binary ? binary : "apt-get install ", binary ? "" : language_table[i]->package);
    }
}

static void put_findings(struct jsonw *j, const struct finding *findings, size_t n)
{
    jsonw_open(j, "checks", '[');
    for (size_t i = 0; i < n; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "name", findings[i].name);
        jsonw_text(j, "state", state_names[findings[i].state]);
        jsonw_text(j, "found", findings[i].found);
        jsonw_open(j, "fix", '[');
        for (size_t k = 0; k < ARRAY_LEN(findings[i].fix); k++)
            if (findings[i].fix[k] && findings[i].state != FOUND)
                jsonw_text(j, NULL, findings[i].fix[k]);
        jsonw_close(j, ']');
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void put_languages(struct jsonw *j)
{
    jsonw_open(j, "languages", '[');
    for (size_t i = 0; language_table[i]; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "name", language_table[i]->name);
        jsonw_text(j, "binary", executor_locate(language_table[i]));
        jsonw_text(j, "package", language_table[i]->package);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void print_json(const struct finding *findings, size_t n, bool works)
{
    scoped_free char *text = NULL;
    struct jsonw j;

    jsonw_init(&j, true);
    jsonw_open(&j, NULL, '{');
    jsonw_bool(&j, "works", works);
    put_findings(&j, findings, n);
    put_languages(&j);
    jsonw_close(&j, '}');
    text = jsonw_take(&j);
    printf("%s\n", text ? text : "{}");
}

static int doctor_run(struct options *o)
{
    struct finding findings[N_CHECKS + 1] = { { 0 } };
    sbr_runtime runtime;
    bool works;

    probe_features(&runtime.features);
    cgroup_sweep(&runtime.features.cgroup);
    for (size_t i = 0; i < N_CHECKS; i++) {
        findings[i].name = checks[i].name;
        checks[i].check(&runtime.features, &findings[i]);
    }
    try_run(&runtime, &findings[N_CHECKS]);
    works = findings[N_CHECKS].state == FOUND;
    if (o->json) {
        print_json(findings, N_CHECKS + 1, works);
        return works ? 0 : EXIT_OURS;
    }
    for (size_t i = 0; i < N_CHECKS + 1; i++)
        print_finding(&findings[i], o);
    print_languages();
    return works ? 0 : EXIT_OURS;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .usage = "[--json]",
    .help = "say what this machine offers, what is missing and how to mend it",
    .bit = FOR_DOCTOR,
    .run = doctor_run,
};
