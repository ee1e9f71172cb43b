#include "cli/documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cmd_test.h"
#include "cli/display.h"
#include "cli/repl.h"
#include "cli/settings.h"
#include "cli/shorten.h"
#include "config/config.h"
#include "lib/image_pull.h"
#include "lib/runner.h"
#include "plan/policy_own.h"
#include "toolchain/toolchain_paths.h"

static int load_request(struct options *o, struct source *source, sbr_error *err)
{
    scoped_free char *data = NULL;
    sbr_request *req = NULL;
    size_t len = 0;

    source->from_stdin = !strcmp(o->request_path, "-");
    if (source->from_stdin) {
        if (fd_read_text(STDIN_FILENO, 2 * REQUEST_MAX_BYTES, &data, &len, err) < 0)
            return err->code;
    } else if (source_read_path(o->request_path, &data, &len, err) < 0) {
        return err->code;
    }
    if (sbr_request_from_json(data, len, &req, err) < 0)
        return err->code;
    if ((o->lang && request_set_text(&req->language, o->lang, err) < 0) ||
        request_override(req, o->request, err) < 0) {
        request_free(req);
        return err->code;
    }
    request_free(o->request);
    o->request = req;
    return 0;
}

static int add_directory(sbr_error *err)
{
    struct toolchain_paths found;
    char config[2048], pattern[2100];
    int r = 0;

    if (!runner_config_dir(config, sizeof(config)))
        return 0;
    snprintf(pattern, sizeof(pattern), "%s/languages/*.yaml", config);
    toolchain_paths_expand(NULL, pattern, &found);
    for (size_t i = 0; r == 0 && i < found.n; i++)
        r = sbr_language_add_file(found.at[i], err);
    toolchain_paths_done(&found);
    return r;
}

static int read_config(struct options *o, sbr_error *err)
{
    char dir[CONFIG_PATH_SIZE];
    struct config *config;

    if (o->no_config || !settings_apply_to(o->command))
        return 0;
    config = calloc(1, sizeof(*config));
    if (!config)
        return err_set_oom(err, "config");
    if (config_load(settings_start(o, dir), config, err) < 0) {
        free(config);
        return err->code;
    }
    o->config = config;
    return 0;
}

static void free_config(struct options *o)
{
    config_done(o->config);
    free(o->config);
    o->config = NULL;
}

/* --policy FILE: from here on its name stands for it. */
static int load_policy(struct options *o, sbr_error *err)
{
    const struct policy *policy;

    if (!o->request || !settings_names_policy_file(o))
        return 0;
    if (policy_own_add(o->request->policy, &policy, err) < 0)
        return err->code;
    return request_set_text(&o->request->policy, policy->name, err);
}

static int apply_config(const struct options *o, sbr_error *err)
{
    const char *line = o->config && !o->quiet ? o->config->notes.data : NULL;

    for (const char *end; line && (end = strchr(line, '\n')); line = end + 1)
        fprintf(stderr, "sandbox-run: %.*s\n", (int)(end - line), line);
    return o->config ? config_apply(o->config, o->request, err) : 0;
}

static int add_languages(struct options *o, sbr_error *err)
{
    int r = add_directory(err);

    if (r == 0)
        r = load_policy(o, err);
    if (r == 0 && o->config)
        r = config_add_languages(o->config, err);

    for (size_t i = 0; r == 0 && i < o->language_files.n; i++)
        r = sbr_language_add_file(o->language_files.items[i], err);
    return r;
}

static const struct retention *retention(const struct options *o)
{
    return o->config ? &o->config->retention : NULL;
}

static void tell_pull(void *context, const char *line)
{
    const struct options *o = context;

    if (!o->quiet)
        fprintf(stderr, "sandbox-run: image: %s\n", line);
}

static const char *image_of(const sbr_request *req)
{
    const struct language *language = NULL;
    sbr_error ignored; /* of an unknown language, which the job refuses */

    if (req->image || !req->language)
        return req->image;
    return language_resolve(req->language, &language, &ignored) == 0 ? language->image : NULL;
}

static int bring_image(const struct options *o, sbr_error *err)
{
    struct image_pull pull = { .progress = tell_pull, .context = (void *)o };
    const char *ref = image_of(o->request);

    return ref ? image_pull_missing(&pull, ref, err) : 0;
}

const struct documents documents = { .load_request = load_request,
                                     .read_config = read_config,
                                     .free_config = free_config,
                                     .apply_config = apply_config,
                                     .retention = retention,
                                     .add_languages = add_languages,
                                     .bring_image = bring_image,
                                     .run_tests = cmd_test_run_file,
                                     .run_shortened = shorten_run,
                                     .run_display = display_run,
                                     .run_notebook = notebook_run };
