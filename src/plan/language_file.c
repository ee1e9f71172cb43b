#include "plan/language_file.h"
#include "plan/pattern.h"

#include <ctype.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/limits.h"
#include "model/network.h"
#include "plan/driver_object.h"
#include "plan/template.h"
#include "plan/words.h"

#define DRIVER_MAX 65536

/* A list of words and the check that each must pass. */
struct list_check {
    const char *field;
    const struct words *words;
    bool (*is_right)(const char *text);
    const char *should;
};

static bool is_name(const char *text)
{
    for (; *text; text++) {
        if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) &&
            !strchr("+#-", *text))
            return false;
    }
    return true;
}

/* Only the last suffix counts, so a second dot could never match. */
static bool is_extension(const char *text)
{
    return text[0] == '.' && text[1] != '\0' && !strpbrk(text + 1, "./");
}

static bool is_file_name(const char *text)
{
    return !strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

static bool is_relative(const char *text)
{
    return text[0] != '/' && !strstr(text, "..");
}

static bool is_absolute(const char *text)
{
    size_t len = strlen(text);

    return text[0] == '/' && !strstr(text, "/../") &&
           (len < 3 || strcmp(text + len - 3, "/..") != 0);
}

static bool is_pattern(const char *text)
{
    return is_absolute(strncmp(text, "~/", 2) == 0 ? text + 1 : text);
}

/* A path that is visible inside: the host's, or one of the toolchain's. */
static bool is_shown(const char *text)
{
    return is_absolute(strncmp(text, "${home}/", 8) == 0 ? text + 7 : text);
}

static bool is_setting(const char *text)
{
    return strchr(text, '=') > text && words_are_known(text);
}

static bool is_limit(const char *text)
{
    struct limits limits;
    sbr_error ignored;

    limits_init(&limits);
    return limits_set_pair(&limits, "the limit", text, &ignored) == 0;
}

static bool is_expression(const char *text)
{
    regex_t compiled;

    if (regcomp(&compiled, text, REG_EXTENDED) != 0)
        return false;
    regfree(&compiled);
    return true;
}

static int check_lists(const char *path, const struct list_check *checks, size_t n, sbr_error *err)
{
    for (size_t i = 0; i < n; i++) {
        for (unsigned int j = 0; j < checks[i].words->n; j++) {
            const char *word = checks[i].words->at[j];

            if (!checks[i].is_right(word))
                return err_set(err, SBR_E_INVALID, "language",
                               "%s:%u: in '%s': '%.60s' should be %s", path,
                               document_line_of(path, checks[i].field), checks[i].field, word,
                               checks[i].should);
        }
    }
    return 0;
}

static int check_expression(const char *path, const char *text, sbr_error *err)
{
    if (!text || is_expression(text))
        return 0;
    return err_set(err, SBR_E_INVALID, "language",
                   "%s: '%.100s' is not an extended regular expression; mend it", path, text);
}

static int check_registry(const char *path, const struct registry *registry, sbr_error *err)
{
    struct host_rule rule;
    sbr_error fault;

    if (host_rule_parse(registry->host, &rule, &fault) < 0)
        return err_set(err, SBR_E_INVALID, "language", "%s: in 'registries': %.160s", path,
                       fault.message);
    if (check_expression(path, registry->unless, err) < 0)
        return err->code;
    return check_expression(path, registry->when, err);
}

static int check_stage(const char *path, const char *name, const struct stage_def *stage,
                       sbr_error *err)
{
    /* clang-format off */
    const struct list_check checks[] = {
        { name, &stage->run, words_are_known, WORDS_KNOWN },
        { name,           &stage->env,          is_setting,  "NAME=VALUE" },
        { "limits",       &stage->limits,       is_limit,    "OPTION=VALUE with a limit's option" },
        { "config_files", &stage->config_files, is_pattern,  "an absolute path or ~/..." },
        { "config_shown", &stage->config_shown, is_shown,    "an absolute path or ${home}/..." },
        { "locks",        &stage->locks,        is_relative,
          "a path below the program's directory" },
    };
    /* clang-format on */

    for (unsigned int i = 0; i < stage->n_manifests; i++)
        if (check_expression(path, stage->manifests[i].when, err) < 0 ||
            check_expression(path, stage->manifests[i].below, err) < 0)
            return err->code;
    for (unsigned int i = 0; i < stage->n_registries; i++)
        if (check_registry(path, &stage->registries[i], err) < 0)
            return err->code;
    return check_lists(path, checks, ARRAY_LEN(checks), err);
}

/* The drivers of a part are among those of the language. */
static int check_part(const char *path, const char *part, const struct language *l,
                      const struct words *drivers, sbr_error *err)
{
    for (unsigned int i = 0; i < drivers->n; i++)
        if (!words_have(&l->drivers, drivers->at[i]))
            return err_set(err, SBR_E_INVALID, "language",
                           "%s:%u: '%s' names the driver '%.60s', which the list 'drivers' of the "
                           "language lacks; add it there",
                           path, document_line_of(path, part), part, drivers->at[i]);
    return 0;
}

static int check_diagnosis(const char *path, const struct diagnosis_rules *rules, sbr_error *err)
{
    sbr_error fault;

    if (pattern_check_rules(rules, &fault) == 0)
        return 0;
    return err_set(err, SBR_E_INVALID, "language", "%s: in 'diagnosis': %.160s; mend it", path,
                   fault.message);
}

static bool is_literal(const char *text)
{
    return template_literal_style_find(text) != NULL;
}

static int language_check(const char *path, const struct language *l, sbr_error *err)
{
    const char *const name_rule = "lower case letters, digits, '+', '#' and '-'";
    const char *const plain_rule = "a name without a path";
    struct words name = { (const char **)&l->name, 1 }, source = { (const char **)&l->source, 1 };
    struct words extension = { (const char **)&l->session.extension, l->session.extension ? 1 : 0 };
    struct words literal = { (const char **)&l->literal, l->literal ? 1 : 0 };
    /* clang-format off */
    const struct list_check checks[] = {
        { "name",       &name,          is_name,         name_rule },
        { "aliases",    &l->aliases,    is_name,         name_rule },
        { "extensions", &l->extensions, is_extension,    "a dot and one suffix" },
        { "shebangs",   &l->shebangs,   is_file_name,    plain_rule },
        { "mains",      &l->mains,      is_relative,     "a path below the program's directory" },
        { "source",     &source,        is_file_name,    plain_rule },
        { "literal",    &literal,       is_literal,      "a style of plan/template.h" },
        { "drivers",    &l->drivers,    is_file_name,    plain_rule },
        { "binaries",   &l->binaries,   is_pattern,      "an absolute path or ~/..." },
        { "needs",      &l->needs,      is_absolute,     "an absolute path" },
        { "env",        &l->env,        is_setting,      "NAME=VALUE" },
        { "version",    &l->version,    words_are_known, WORDS_KNOWN },
        { "run",        &l->run,        words_are_known, WORDS_KNOWN },
        { "command",    &l->command,    words_are_known, WORDS_KNOWN },
        { "session",    &l->session.run, words_are_known, WORDS_KNOWN },
        { "profile",    &l->profile.run, words_are_known, WORDS_KNOWN },
        { "extension",  &extension,     is_extension,    "a dot and one suffix" },
    };
    const struct {
        const char *name;
        const struct stage_def *stage;
    } stages[] = {
        { "prepare", &l->prepare }, { "install", &l->install },
        { "compile", &l->compile }, { "check", &l->check },
        { "setup", &l->setup },
    };
    /* clang-format on */

    if (check_lists(path, checks, ARRAY_LEN(checks), err) < 0 ||
        check_expression(path, l->main_in.match, err) < 0)
        return err->code;
    for (size_t i = 0; i < ARRAY_LEN(stages); i++)
        if (check_stage(path, stages[i].name, stages[i].stage, err) < 0 ||
            check_part(path, stages[i].name, l, &stages[i].stage->drivers, err) < 0)
            return err->code;
    if (check_part(path, "warm", l, &l->warm.drivers, err) < 0 ||
        check_part(path, "session", l, &l->session.drivers, err) < 0 ||
        check_part(path, "profile", l, &l->profile.drivers, err) < 0)
        return err->code;
    return check_diagnosis(path, &l->diagnosis, err);
}

/* The content of drivers/NAME in the directory of the file. */
static char *read_driver(const char *path, const char *name, sbr_error *err)
{
    const char *slash = strrchr(path, '/');
    char driver[4096];
    char *text = NULL;
    FILE *file;
    size_t len;

    snprintf(driver, sizeof(driver), "%.*s/drivers/%s", slash ? (int)(slash - path) : 1,
             slash ? path : ".", name);
    file = fopen(driver, "re");
    text = file ? calloc(1, DRIVER_MAX + 1) : NULL;
    if (!text) {
        err_set_errno(err, "language", "%s: cannot read the driver '%s'", path, driver);
        if (file)
            fclose(file);
        return NULL;
    }
    len = fread(text, 1, DRIVER_MAX + 1, file);
    fclose(file);
    if (len > DRIVER_MAX) {
        err_set(err, SBR_E_INVALID, "language", "the driver '%s' is longer than %d bytes", driver,
                DRIVER_MAX);
        free(text);
        return NULL;
    }
    return text;
}

static int read_drivers(const char *path, struct language *l, sbr_error *err)
{
    if (!l->drivers.n)
        return 0;
    l->driver_texts.at = calloc(l->drivers.n, sizeof(*l->driver_texts.at));
    if (!l->driver_texts.at)
        return err_set_oom(err, "language");
    for (; l->driver_texts.n < l->drivers.n; l->driver_texts.n++) {
        const char *name = l->drivers.at[l->driver_texts.n];
        char *text = driver_object_is(name) ? calloc(1, 1) : read_driver(path, name, err);

        if (!text)
            return err->code;
        l->driver_texts.at[l->driver_texts.n] = text;
    }
    return 0;
}

int language_file_load(const char *path, struct language **ret, sbr_error *err)
{
    void *data;

    if (document_load(path, &language_schema, &data, err) < 0)
        return err->code;
    if (language_check(path, data, err) < 0 || read_drivers(path, data, err) < 0) {
        language_file_free(data);
        return err->code;
    }
    *ret = data;
    return 0;
}

void language_file_free(struct language *language)
{
    if (!language)
        return;
    for (unsigned int i = 0; i < language->driver_texts.n; i++)
        free((char *)language->driver_texts.at[i]);
    free(language->driver_texts.at);
    document_free(&language_schema, language);
}
