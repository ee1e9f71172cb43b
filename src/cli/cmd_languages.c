/* languages: their names, tools and versions on this machine, and whether they work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "cli/progress.h"
#include "lib/language_status.h"

struct languages_options {
    bool selftest, no_selftest, fresh, prepare;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "selftest",    NULL, "run the selftests, unless an earlier result still holds",
      OPTION_OWN(struct languages_options, selftest) },
    { 0, "no-selftest", NULL, "run none; show what earlier ones said (default)",
      OPTION_OWN(struct languages_options, no_selftest) },
    { 0, "fresh",       NULL, "run the selftests again, whatever earlier ones said",
      OPTION_OWN(struct languages_options, fresh) },
    { 0, "prepare",     NULL, "make ready what a language compiles once, such as Go's library",
      OPTION_OWN(struct languages_options, prepare) },
    { 0 },
};
/* clang-format on */

enum { NAME, ALIASES, VERSION, WHERE, SELFTEST, N_COLUMNS };

static const char *const titles[N_COLUMNS] = { "LANGUAGE", "ALIASES", "VERSION", "WHERE",
                                               "SELFTEST" };

/* One line of the table; of a language with several toolchains, the first has all columns. */
struct line {
    char cell[N_COLUMNS][TOOLCHAIN_PATH];
    const char *color; /* of the last one; NULL: none */
};

struct reports {
    struct language_report *at;
    size_t n;
};

/* The language's own version, then that of the tool, which @VERSION chooses. */
static void name_version(const struct language *l, const struct toolchain *t, char *buf,
                         size_t size)
{
    const char *tool = strrchr(t->binary, '/');

    if (l->release)
        snprintf(buf, size, "%s (%s %s)", l->release, tool ? tool + 1 : "",
                 language_version_text(t));
    else
        snprintf(buf, size, "%s", language_version_text(t));
}

static void join(const struct words *words, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned int i = 0; i < words->n && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", words->at[i]);
}

/* clang-format off */
static const struct {
    const char *name, *text, *color;
} statuses[] = {
    [SELFTEST_NOT_RUN]    = { "not_run",    "not run",    NULL       },
    [SELFTEST_PASSES]     = { "passes",     "passes",     "\x1b[32m" },
    [SELFTEST_FAILS]      = { "fails",      "fails",      "\x1b[31m" },
    [SELFTEST_CANNOT_RUN] = { "cannot_run", "cannot run", "\x1b[33m" },
};
/* clang-format on */

static void fill_line(const struct language_report *report, size_t index, struct line *line)
{
    const struct language *l = report->language;

    memset(line, 0, sizeof(*line));
    if (index == 0) {
        snprintf(line->cell[NAME], sizeof(line->cell[NAME]), "%s", l->name);
        join(&l->aliases, line->cell[ALIASES], sizeof(line->cell[ALIASES]));
    }
    if (report->n_toolchains == 0) {
        line->color = "\x1b[2m";
        snprintf(line->cell[WHERE], sizeof(line->cell[WHERE]), "not installed%s%s",
                 l->package ? ": apt-get install " : "", l->package ? l->package : "");
        return;
    }
    name_version(l, &report->toolchains[index], line->cell[VERSION], sizeof(line->cell[VERSION]));
    snprintf(line->cell[WHERE], sizeof(line->cell[WHERE]), "%s", report->toolchains[index].binary);
    if (index > 0)
        return;
    line->color = statuses[report->selftest].color;
    snprintf(line->cell[SELFTEST], sizeof(line->cell[SELFTEST]), "%s%s%s",
             statuses[report->selftest].text, report->why[0] ? ": " : "", report->why);
}

static size_t n_lines(const struct language_report *report)
{
    return report->n_toolchains ? report->n_toolchains : 1;
}

static void measure(const struct reports *reports, int widths[N_COLUMNS])
{
    struct line line;

    for (size_t column = 0; column < N_COLUMNS; column++)
        widths[column] = (int)strlen(titles[column]);
    for (size_t i = 0; i < reports->n; i++) {
        for (size_t k = 0; k < n_lines(&reports->at[i]); k++) {
            fill_line(&reports->at[i], k, &line);
            for (size_t column = 0; column < N_COLUMNS; column++)
                if ((int)strlen(line.cell[column]) > widths[column])
                    widths[column] = (int)strlen(line.cell[column]);
        }
    }
}

/* No blanks at the end; the last cell has the colour. */
static void print_line(const struct line *line, const int widths[N_COLUMNS], bool color)
{
    size_t last = line->cell[SELFTEST][0] ? SELFTEST : WHERE;

    color = color && line->color;
    for (size_t column = 0; column < last; column++)
        printf("%-*s  ", widths[column], line->cell[column]);
    printf("%s%s%s\n", color ? line->color : "", line->cell[last], color ? "\x1b[0m" : "");
}

static void print_table(const struct reports *reports, const struct options *o)
{
    bool color = present_uses_color(STDOUT_FILENO, o);
    struct line line = { .color = NULL };
    int widths[N_COLUMNS];

    measure(reports, widths);
    for (size_t column = 0; column < N_COLUMNS; column++)
        snprintf(line.cell[column], sizeof(line.cell[column]), "%s", titles[column]);
    print_line(&line, widths, color);
    for (size_t i = 0; i < reports->n; i++) {
        for (size_t k = 0; k < n_lines(&reports->at[i]); k++) {
            fill_line(&reports->at[i], k, &line);
            print_line(&line, widths, color);
        }
    }
}

static bool is_builtin(const struct language *language)
{
    for (size_t i = 0; language_table[i]; i++)
        if (language_table[i] == language)
            return true;
    return false;
}

static void put_versions(struct jsonw *j, const struct language_report *report)
{
    jsonw_open(j, "versions", '[');
    for (size_t i = 0; i < report->n_toolchains; i++) {
        const char *version = language_version_text(&report->toolchains[i]);

        jsonw_open(j, NULL, '{');
        jsonw_text(j, "version", version[0] ? version : NULL);
        jsonw_path(j, "path", report->toolchains[i].binary);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void put_report(struct jsonw *j, const struct language_report *report)
{
    const struct language *l = report->language;

    jsonw_open(j, NULL, '{');
    language_report_put_json(j, report);
    jsonw_text(j, "package", l->package);
    jsonw_text(j, "release", l->release);
    put_versions(j, report);
    jsonw_open(j, "selftest", '{');
    jsonw_text(j, "status", statuses[report->selftest].name);
    jsonw_text(j, "message", report->why[0] ? report->why : NULL);
    jsonw_close(j, '}');
    jsonw_text(j, "file", is_builtin(l) ? "builtin" : "user");
    jsonw_close(j, '}');
}

static void print_json(const struct reports *reports)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "languages", '[');
    for (size_t i = 0; i < reports->n; i++)
        put_report(&j, &reports->at[i]);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    present_json(&j);
}

static int add_report(struct reports *reports, struct language_inspector *inspector,
                      const struct language *language, const char *version, sbr_error *err)
{
    struct language_report *grown = realloc(reports->at, (reports->n + 1) * sizeof(*reports->at));

    if (!grown)
        return err_set_oom(err, "languages");
    reports->at = grown;
    if (language_inspect(inspector, language, version, &grown[reports->n], err) < 0)
        return err->code;
    reports->n++;
    return 0;
}

static int gather(struct reports *reports, struct language_inspector *inspector,
                  const struct options *o, sbr_error *err)
{
    const char *word = o->n_positional ? o->positional[0] : NULL;
    const struct language *language = NULL;

    if (o->n_positional > 1)
        return err_set(err, SBR_E_INVALID, "languages", "name one language, or none for all");
    if (word && language_resolve(word, &language, err) < 0)
        return err->code;
    if (word)
        return add_report(reports, inspector, language, language_version_of(word), err);
    for (size_t i = 0; (language = language_at(i)); i++)
        if (add_report(reports, inspector, language, NULL, err) < 0)
            return err->code;
    return 0;
}

/* Seconds since the line was another one. */
static void show_progress(const char *name, const char *stage)
{
    static struct progress progress;
    char title[80];

    snprintf(title, sizeof(title), "%s: %s", name ? name : "",
             !stage                  ? "asking for its version"
             : progress_doing(stage) ? progress_doing(stage)
                                     : "running its selftest");
    progress_show(&progress, name ? title : NULL);
}

static int check_own(const struct languages_options *own, sbr_error *err)
{
    if (own->no_selftest && (own->selftest || own->fresh || own->prepare))
        return err_set(err, SBR_E_INVALID, "options",
                       "--no-selftest does not go together with --selftest, --fresh and --prepare");
    return 0;
}

static int languages_run(struct options *o)
{
    const struct languages_options *own = o->own;
    struct language_inspector inspector = { .selftest = own->selftest,
                                            .fresh = own->fresh,
                                            .prepare = own->prepare,
                                            .on_progress =
                                                isatty(STDERR_FILENO) ? show_progress : NULL };
    struct reports reports = { 0 };
    int status = 0;
    sbr_error err;

    if (check_own(own, &err) < 0 || gather(&reports, &inspector, o, &err) < 0)
        status = cli_fail(o, &err);
    else if (o->json)
        print_json(&reports);
    else
        print_table(&reports, o);
    for (size_t i = 0; i < reports.n; i++) {
        if (reports.at[i].selftest >= SELFTEST_FAILS)
            status = EXIT_OURS;
        language_report_done(&reports.at[i]);
    }
    language_inspector_done(&inspector);
    free(reports.at);
    return status;
}

const struct command cmd_languages = {
    .name = "languages",
    .usage = "[NAME[@VERSION]] [--json] [--selftest] [--fresh] [--prepare]",
    .help = "list the languages and their versions here; test them, make them ready",
    .examples = "Examples:\n  sandbox-run languages\n  sandbox-run languages python --json\n"
                "  sandbox-run languages --selftest     does each work here?\n"
                "  sandbox-run languages --prepare go   now, not when the first program waits\n"
                "\nResults of selftests are remembered until the tools change.\n",
    .options = (const struct option *const[]){ options_language_file, options_report, own_options,
                                               options_config, options_look, options_quiet,
                                               options_general, NULL },
    .own_size = sizeof(struct languages_options),
    .run = languages_run,
};
