#include "lib/language_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/text.h"
#include "job/job.h"
#include "lib/runner.h"
#include "store/store.h"

static void report_progress(const struct language_inspector *inspector, const char *name,
                            const char *stage)
{
    if (inspector->on_progress)
        inspector->on_progress(name, stage);
}

static void stage_goes_on(void *context, enum stage stage)
{
    const struct language_inspector *inspector = context;

    report_progress(inspector, inspector->shown->name, stage_name(stage));
}

/* Opened when the first selftest or version is wanted; NULL without memory. */
static const sbr_runtime *runtime_of(struct language_inspector *inspector)
{
    sbr_error ignored;

    if (!inspector->runtime && runner_open(RUNNER_ONCE, false, &inspector->runtime, &ignored) < 0)
        return NULL;
    return inspector->runtime;
}

static int ask_version(void *context, const struct language *language, struct toolchain *toolchain)
{
    struct language_inspector *inspector = context;

    report_progress(inspector, language->name, NULL);
    if (!runtime_of(inspector))
        return SBR_E_NO_MEMORY;
    return selftest_ask_version(inspector->runtime, NULL, language, toolchain);
}

static void add_words(struct sha256 *hash, const struct words *words)
{
    sha256_add_u64(hash, words->n);
    for (unsigned int i = 0; i < words->n; i++)
        sha256_add_text(hash, words->at[i]);
}

static void add_stage(struct sha256 *hash, const struct stage_def *stage)
{
    add_words(hash, &stage->run);
    add_words(hash, &stage->env);
    add_words(hash, &stage->limits);
    sha256_add_u64(hash, stage->network);
}

/* A result is good for this version of ours, this toolchain and this text of the language's
 * file. */
static void name_note(const struct language_report *report, char *note, size_t size)
{
    const struct language *l = report->language;
    char identity[TOOLCHAIN_IDENTITY], key[SHA256_HEX_SIZE];
    struct sha256 hash;

    toolchain_identity(&report->toolchains[0], identity, sizeof(identity));
    sha256_init(&hash);
    sha256_add_u64(&hash, SBR_VERSION_MAJOR << 16 | SBR_VERSION_MINOR << 8 | SBR_VERSION_PATCH);
    sha256_add_text(&hash, identity);
    add_words(&hash, &l->needs);
    add_words(&hash, &l->env);
    add_words(&hash, &l->drivers);
    add_words(&hash, &l->driver_texts);
    add_stage(&hash, &l->prepare);
    add_stage(&hash, &l->compile);
    add_words(&hash, &l->run);
    sha256_add_text(&hash, l->selftest.code);
    sha256_add_text(&hash, l->selftest.stdin_text);
    sha256_add_text(&hash, l->selftest.stdout_text);
    sha256_add_u64(&hash, (uint64_t)l->selftest.exit_code);
    sha256_finish_hex(&hash, key);
    toolchain_note_name("selftest", l->name, key, note, size);
}

/* One line without control characters: it may quote output of the program. */
static void clean(char *text)
{
    bool utf8 = text_is_utf8(text, strlen(text));

    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f || (!utf8 && *p >= 0x80))
            *p = ' ';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) /* C1 controls */
            p[0] = p[1] = ' ';
    }
}

#define NOTE_PASSES "passes"
#define NOTE_FAILS "fails "

static bool recall(const char *note, struct language_report *report)
{
    char text[sizeof(report->why) + sizeof(NOTE_FAILS)] = "";

    if (store_note_read(note, text, sizeof(text)) < 0)
        return false;
    if (strcmp(text, NOTE_PASSES) == 0) {
        report->selftest = SELFTEST_PASSES;
        return true;
    }
    if (strncmp(text, NOTE_FAILS, strlen(NOTE_FAILS)) != 0)
        return false;
    report->selftest = SELFTEST_FAILS;
    snprintf(report->why, sizeof(report->why), "%.*s", (int)sizeof(report->why) - 1,
             text + strlen(NOTE_FAILS));
    clean(report->why);
    return true;
}

static void run_selftest(struct language_inspector *inspector, const char *version,
                         const char *note, struct language_report *report)
{
    const struct selftest_watch watch = { inspector->on_progress ? stage_goes_on : NULL,
                                          inspector };
    char text[sizeof(report->why) + sizeof(NOTE_FAILS)];
    int r;

    inspector->shown = report->language;
    r = !runtime_of(inspector) ? SBR_E_NO_MEMORY
                               : selftest_run(inspector->runtime, report->language, version, &watch,
                                              report->why, sizeof(report->why));
    if (r > 0)
        report->why[0] = '\0';
    clean(report->why);
    report->selftest = r > 0 ? SELFTEST_PASSES : r == 0 ? SELFTEST_FAILS : SELFTEST_CANNOT_RUN;
    if (r < 0) /* because of the machine at this moment: not worth remembering */
        return;
    snprintf(text, sizeof(text), "%s%s", r > 0 ? NOTE_PASSES : NOTE_FAILS, report->why);
    store_note_write(note, text);
}

static int find_toolchains(struct language_inspector *inspector, const char *version,
                           struct language_report *report, sbr_error *err)
{
    struct toolchain_query query = { .wanted = version, .ask = ask_version, .context = inspector };

    if (version) {
        if (toolchain_find(report->language, &query, report->toolchains, err) < 0)
            return err->code;
        report->n_toolchains = 1;
    } else {
        report->n_toolchains = toolchain_list(report->language, report->toolchains, TOOLCHAIN_MAX);
    }
    for (size_t i = 0; i < report->n_toolchains; i++)
        (void)toolchain_version(report->language, &query, &report->toolchains[i]);
    return 0;
}

/* The selftest goes through all stages, so what it leaves in the store is what a program needs. */
static bool wants_run(const struct language_inspector *inspector, const struct language *language,
                      bool is_known)
{
    if (inspector->prepare && language->prepare.run.n)
        return true;
    return inspector->fresh || (inspector->selftest && !is_known);
}

int language_inspect(struct language_inspector *inspector, const struct language *language,
                     const char *version, struct language_report *ret, sbr_error *err)
{
    struct language_report report = { .language = language };
    scoped_free struct toolchain *toolchains = calloc(TOOLCHAIN_MAX, sizeof(*toolchains));
    char note[TOOLCHAIN_NOTE];
    int r;

    if (!toolchains)
        return err_set_oom(err, "languages");
    report.toolchains = toolchains;
    r = find_toolchains(inspector, version, &report, err);
    if (r == 0 && report.n_toolchains > 0 && language->selftest.code) {
        name_note(&report, note, sizeof(note));
        if (wants_run(inspector, language, recall(note, &report)))
            run_selftest(inspector, version, note, &report);
    }
    report_progress(inspector, NULL, NULL);
    if (r < 0)
        return r;
    *ret = report;
    ret->toolchains = take_ptr(toolchains);
    return 0;
}

void language_report_put_json(struct jsonw *j, const struct language_report *report)
{
    const struct language *l = report->language;

    jsonw_text(j, "name", l->name);
    jsonw_text(j, "about", l->about);
    jsonw_names(j, "aliases", l->aliases.at, l->aliases.n);
    jsonw_names(j, "extensions", l->extensions.at, l->extensions.n);
    jsonw_bool(j, "installed", report->n_toolchains > 0);
    jsonw_bool(j, "sessions", l->session.run.n > 0);
}

void language_report_done(struct language_report *report)
{
    free(report->toolchains);
    *report = (struct language_report){ 0 };
}

void language_inspector_done(struct language_inspector *inspector)
{
    sbr_runtime_close(inspector->runtime);
}
