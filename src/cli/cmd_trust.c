/* trust: which configuration files of projects count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/jsonw.h"
#include "cli/cli.h"
#include "cli/host_path.h"
#include "cli/present.h"
#include "config/config.h"
#include "config/trust.h"

struct trust_options {
    bool list, revoke;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "list",   NULL, "list the files that are trusted",
      OPTION_OWN(struct trust_options, list) },
    { 0, "revoke", NULL, "do not trust the file any more",
      OPTION_OWN(struct trust_options, revoke) },
    { 0 },
};
/* clang-format on */

/* The file that a word names: itself, or the one that counts in a directory. */
static int find_file(const char *word, char path[CONFIG_PATH_SIZE], sbr_error *err)
{
    scoped_free char *made = NULL;
    struct stat st;

    if (!word || (stat(word, &st) == 0 && S_ISDIR(st.st_mode))) {
        if (config_project_path(word, path))
            return 0;
        return err_set(err, SBR_E_NOT_FOUND, "trust",
                       "there is no " CONFIG_PROJECT_NAME " in '%.200s' or above it in its project",
                       word ? word : ".");
    }
    if (host_path(word, &made, err) < 0)
        return err->code;
    if (strlen(made) >= CONFIG_PATH_SIZE)
        return err_set(err, SBR_E_INVALID, "trust", "the path is too long");
    snprintf(path, CONFIG_PATH_SIZE, "%s", made);
    return 0;
}

static const char *state_of(const struct trust_item *item)
{
    struct config_text text;
    sbr_error ignored;
    int r = config_text_read(CONFIG_OF_PROJECT, item->path, &text, &ignored);
    const char *state = r == 0                                   ? "gone"
                        : r < 0                                  ? "refused"
                        : strcmp(text.digest, item->digest) != 0 ? "changed"
                                                                 : "trusted";

    config_text_done(&text);
    return state;
}

static void print_item(void *context, const struct trust_item *item)
{
    (void)context;
    printf("%-8s ", state_of(item));
    present_name(stdout, item->path);
    printf("\n");
}

static void put_item(void *context, const struct trust_item *item)
{
    struct jsonw *j = context;

    jsonw_open(j, NULL, '{');
    jsonw_path(j, "path", item->path);
    jsonw_text(j, "sha256", item->digest);
    jsonw_text(j, "state", state_of(item));
    jsonw_close(j, '}');
}

static int list(const struct options *o, sbr_error *err)
{
    struct jsonw j;
    int r;

    if (!o->json)
        return trust_list(print_item, NULL, err);
    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "trusted", '[');
    r = trust_list(put_item, &j, err);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    if (r == 0)
        present_json(&j);
    else
        free(jsonw_take(&j));
    return r;
}

/* One line, or the same as JSON. */
static void report(const struct options *o, const char *did, const char *path)
{
    struct jsonw j;

    if (!o->json) {
        printf("%s ", did);
        present_name(stdout, path);
        printf("\n");
        return;
    }
    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_path(&j, did, path);
    jsonw_close(&j, '}');
    present_json(&j);
}

static int trust_end(const struct options *o, const char *path, sbr_error *err)
{
    int r = trust_revoke(path, err);

    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, SBR_E_NOT_FOUND, "trust",
                       "'%.200s' was not trusted; `sandbox-run trust --list` has those that are",
                       path);
    report(o, "revoked", path);
    return 0;
}

static int trust_begin(const struct options *o, const char *path, sbr_error *err)
{
    struct config_text text;
    int r = config_text_read(CONFIG_OF_PROJECT, path, &text, err);

    if (r == 0)
        r = err_set(err, SBR_E_NOT_FOUND, "trust", "there is no file '%.200s'", path);
    if (r == 1)
        r = config_check_project(&text, err);
    if (r == 0)
        r = trust_add(text.path, text.digest, err);
    if (r == 0)
        report(o, "trusted", path);
    config_text_done(&text);
    return r;
}

static int act(const struct options *o, sbr_error *err)
{
    const struct trust_options *own = o->own;
    char path[CONFIG_PATH_SIZE];

    if (o->n_positional > 1)
        return err_set(err, SBR_E_INVALID, "trust", "name one file or directory");
    if (own->list)
        return list(o, err);
    if (find_file(o->n_positional ? o->positional[0] : NULL, path, err) < 0)
        return err->code;
    return own->revoke ? trust_end(o, path, err) : trust_begin(o, path, err);
}

static int trust_run(struct options *o)
{
    sbr_error err;

    return act(o, &err) < 0 ? cli_fail(o, &err) : 0;
}

const struct command cmd_trust = {
    .name = "trust",
    .usage = "[DIR | FILE] [--list] [--revoke]",
    .help = "let a project's " CONFIG_PROJECT_NAME " count, as it is now",
    .examples =
        "Examples:\n"
        "  sandbox-run trust                 that of this directory's project\n"
        "  sandbox-run trust --list\n"
        "  sandbox-run trust --revoke ~/src/tool\n\n"
        "A project's file can only tighten what your own file allows.  When it changes, it\n"
        "is ignored until you trust it again.\n",
    .options = (const struct option *const[]){ options_report, own_options, options_look,
                                               options_quiet, options_general, NULL },
    .own_size = sizeof(struct trust_options),
    .run = trust_run,
};
