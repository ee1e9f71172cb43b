/* Which language and which tools a request means. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image/image.h"
#include "job/job.h"

static int ask_version(void *context, const struct language *language, struct toolchain *toolchain)
{
    const sbr_job *job = context;

    return selftest_ask_version(job->rt, job->image, language, toolchain);
}

/* The language without a program of its own: its tools, its packages and its variables. */
static void take_tools(sbr_job *job)
{
    const struct language *whole = job->language;

    job->tools = (struct language){ .name = whole->name,
                                    .release = whole->release,
                                    .extensions = whole->extensions,
                                    .needs = whole->needs,
                                    .env = whole->env,
                                    .run = whole->command,
                                    .is_tools = true,
                                    .source = whole->source,
                                    .deps_link = whole->deps_link,
                                    .drivers = whole->drivers,
                                    .driver_texts = whole->driver_texts,
                                    .version = whole->version,
                                    .prepare = whole->prepare,
                                    .install = whole->install };
    if (job->req->of_project)
        job->tools.compile = whole->setup;
    job->language = &job->tools;
    job->warm.off = true; /* what the engine has ready is for programs */
}

static bool is_in(const char *dirs, const char *name)
{
    char path[TOOLCHAIN_PATH + REQUEST_MAX_PATH];

    for (; *dirs; dirs += *dirs == ':') {
        size_t len = strcspn(dirs, ":");

        snprintf(path, sizeof(path), "%.*s/%s", (int)len, dirs, name);
        if (access(path, X_OK) == 0)
            return true;
        dirs += len;
    }
    return false;
}

/* A command that is not where commands are may belong to a toolchain elsewhere, such as `go`. */
static void find_tools(sbr_job *job)
{
    const char *name = job->req->args.n ? job->req->args.items[0] : "";
    const struct language *language;
    sbr_error ignored;

    if (!*name || strchr(name, '/') || strlen(name) > NAME_MAX || is_in(PLAN_USUAL_PATH, name))
        return;
    for (size_t i = 0; (language = language_at(i)); i++) {
        char *slash;
        char dir[TOOLCHAIN_PATH];

        if (toolchain_find(language, NULL, &job->toolchain, &ignored) < 0)
            continue;
        snprintf(dir, sizeof(dir), "%s", job->toolchain.binary);
        slash = strrchr(dir, '/');
        if (slash)
            *slash = '\0';
        if (slash && is_in(dir, name)) {
            job->language = language;
            job->skips_version = true;
            take_tools(job);
            return;
        }
    }
}

/* The commands that the request allows, and the one that it runs. */
static int find_commands(sbr_job *job, sbr_error *err)
{
    const sbr_request *req = job->req;
    const char *word = request_word(req, CALLED_ALLOW_COMMAND);
    const char *program = job->language     ? job->toolchain.binary
                          : req->args.n > 0 ? req->args.items[0]
                                            : NULL;

    if (!req->commands.n)
        return 0;
    if (job->language &&
        (req->command || !job->language->literal || strcmp(job->language->literal, "shell") != 0))
        return err_set(err, SBR_E_INVALID, "commands",
                       "%s is for commands and shells, not for %s, whose runtime needs files of "
                       "its own; leave it out",
                       word, job->language->name);
    if (job->language && job->toolchain.tree[0])
        return err_set(err, SBR_E_INVALID, "commands",
                       "%s needs a shell in /usr, not '%.150s'; leave it out", word,
                       job->toolchain.binary);
    job->warm.off = true; /* what the engine has ready has all of /usr */
    return allowed_commands_find(&req->commands, program, &job->commands, err);
}

static int find_language(sbr_job *job, const char *name, sbr_error *err)
{
    struct toolchain_query query = { .root = job->image ? &job->image->root : NULL,
                                     .ask = ask_version,
                                     .context = job };

    query.wanted = language_version_of(name);
    if (toolchain_find(job->language, &query, &job->toolchain, err) < 0)
        return err->code;
    if (job->image)
        image_look_for_libc(job->image, job->language);
    if (job->req->command)
        take_tools(job);
    return 0;
}

/* The image of the request, or else of the language's file. */
static int find_image(sbr_job *job, sbr_error *err)
{
    const sbr_request *req = job->req;
    const char *of_language = job->language ? job->language->image : NULL;

    if (!req->image && !of_language)
        return 0;
    if (req->commands.n)
        return err_set(err, SBR_E_INVALID, "image",
                       "%s chooses among the host's commands, and an image has its own; leave one "
                       "of them out",
                       request_word(req, CALLED_ALLOW_COMMAND));
    if (image_open(req->image ? req->image : of_language, job->language, &job->image, err) < 0)
        return err->code;
    /* A directory may change at any time, so nothing is made of it ahead. */
    if (!job->image->id[0])
        job->warm.off = true;
    return 0;
}

/* Work on code finds languages by the files, so a job looks once more. */
static int check_language(const sbr_job *job, sbr_error *err)
{
    const char *name = job->language ? job->language->name : "command";

    if (!job->req->only_languages || language_is_listed(job->req->only_languages, name))
        return 0;
    return err_set(err, SBR_E_DENIED, "language",
                   "the language '%.60s' is not allowed; ask the operator for one that is", name);
}

int job_resolve(sbr_job *job, sbr_error *err)
{
    const char *name = job->req->language;

    if (request_check(job->req, err) < 0)
        return err->code;
    if ((name && language_resolve(name, &job->language, err) < 0) || check_language(job, err) < 0)
        return err->code;
    if (find_image(job, err) < 0)
        return err->code;
    if (name && find_language(job, name, err) < 0)
        return err->code;
    if (!name && !job->image)
        find_tools(job);
    return find_commands(job, err);
}
