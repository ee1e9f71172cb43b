/* doctor: what this machine offers and lacks, with the lines that repair it, and a trial run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "lib/doctor.h"
#include "lib/runner.h"
#include "plan/language.h"

#define BACKENDS_MAX 6

struct report {
    const struct features *features;
    struct finding findings[DOCTOR_MAX + 1 + BACKENDS_MAX]; /* the last are the trials */
    size_t n_findings;
    bool works;
};

static int run_true(const char *backend, sbr_result **ret, sbr_error *err)
{
    static const char *const argv[] = { "true", NULL };
    sbr_runtime *runtime = NULL;
    sbr_request *req = NULL;
    /* Cold: the trial is of this machine, not of an engine. */
    int r = runner_open(RUNNER_LONG, true, &runtime, err);

    if (r == 0)
        r = sbr_request_new(NULL, NULL, &req, err);
    if (r == 0)
        r = sbr_request_set_argv(req, argv);
    if (r == 0)
        r = sbr_request_set_backend(req, backend);
    if (r == 0)
        r = sbr_run(runtime, req, ret, err);
    sbr_request_free(req);
    sbr_runtime_close(runtime);
    return r;
}

/* The proof: a real run at the default tier.  Only the native backend has to work. */
static bool try_run(const char *name, const char *backend, struct finding *finding)
{
    bool native = !strcmp(backend, "native");
    sbr_result *result = NULL;
    sbr_error err = { 0 };

    finding->name = name;
    finding->state = native ? MISSING : WEAKER;
    if (run_true(backend, &result, &err) < 0 || !result) {
        if (err.code == SBR_E_UNSUPPORTED && !strcmp(err.stage, "backend")) {
            finding->state = FOUND;
            snprintf(finding->found, sizeof(finding->found),
                     "not needed, as it would be a second wall: %.300s", err.message);
            return false;
        }
        snprintf(finding->found, sizeof(finding->found), "%s", err.message);
        return false;
    }
    if (result_success(result))
        finding->state = FOUND;
    snprintf(finding->found, sizeof(finding->found), "isolation %s, %s, started in %.1f ms",
             request_tier_name(result->isolation.tier), result_verdict_name(result->verdict),
             (double)result->usage.startup_us / 1000);
    sbr_result_free(result);
    return finding->state == FOUND;
}

static const char *const state_names[] = { "ok", "weaker", "missing" };

/* Without the lines that the finding before has too. */
static void print_finding(const struct finding *finding, const struct finding *before,
                          const struct options *o)
{
    static const char *const colors[] = { "\x1b[32m", "\x1b[33m", "\x1b[31m" };
    bool color = present_uses_color(STDOUT_FILENO, o);

    printf("%s%-8s%s %-16s %s\n", color ? colors[finding->state] : "", state_names[finding->state],
           color ? "\x1b[0m" : "", finding->name, finding->found);
    for (size_t i = 0; i < FIX_LINES && finding->fix[i][0]; i++)
        if (!before || strcmp(finding->fix[i], before->fix[i]) != 0)
            printf("           %s\n", finding->fix[i]);
    if (finding->lasts && finding->state != FOUND && (!before || before->lasts != finding->lasts))
        printf("           (this lasts %s)\n", finding->lasts);
    if (finding->boot[0])
        printf("           boot the kernel %s `%s`\n", finding->boot[0] == '+' ? "with" : "without",
               finding->boot + 1);
}

static void print_languages(void)
{
    const struct language *language;

    for (size_t i = 0; (language = language_at(i)); i++) {
        const char *binary = runner_locate(language);

        printf("%-8s %-16s %s%s\n", binary ? "ok" : "missing", language->name,
               binary ? binary : "apt-get install ", binary ? "" : language->package);
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
        for (size_t k = 0; k < FIX_LINES && findings[i].fix[k][0]; k++)
            jsonw_text(j, NULL, findings[i].fix[k]);
        jsonw_close(j, ']');
        jsonw_text(j, "lasts", findings[i].lasts);
        jsonw_text(j, "boot", findings[i].boot[0] ? findings[i].boot : NULL);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void put_languages(struct jsonw *j)
{
    jsonw_open(j, "languages", '[');
    const struct language *language;

    for (size_t i = 0; (language = language_at(i)); i++) {
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "name", language->name);
        jsonw_text(j, "binary", runner_locate(language));
        jsonw_text(j, "package", language->package);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void print_json(const struct report *report)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_bool(&j, "works", report->works);
    put_findings(&j, report->findings, report->n_findings);
    features_put_json(&j, "features", report->features);
    put_languages(&j);
    jsonw_close(&j, '}');
    present_json(&j);
}

static void try_backends(struct report *report)
{
    const char *const *names = runner_backends();

    for (size_t i = 0; i < BACKENDS_MAX && names[i]; i++)
        if (strcmp(names[i], "native") != 0)
            try_run(names[i], names[i], &report->findings[report->n_findings++]);
}

static int doctor_run(struct options *o)
{
    struct report report = { 0 };
    sbr_runtime *runtime;
    sbr_error err;

    if (runner_open(RUNNER_PLAN, true, &runtime, &err) < 0)
        return cli_fail(o, &err);
    report.features = runner_features(runtime);
    report.n_findings = doctor_examine(report.features, report.findings);
    report.works = try_run("trial run", "native", &report.findings[report.n_findings++]);
    try_backends(&report);
    if (o->json) {
        print_json(&report);
    } else {
        for (size_t i = 0; i < report.n_findings; i++)
            print_finding(&report.findings[i], i > 0 ? &report.findings[i - 1] : NULL, o);
        print_languages();
    }
    sbr_runtime_close(runtime);
    return report.works ? 0 : EXIT_OURS;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .usage = "[--json]",
    .help = "say what this machine offers, what is missing and how to mend it",
    .options = (const struct option *const[]){ options_report, options_look, options_quiet,
                                               options_general, NULL },
    .run = doctor_run,
};
