/* The lean program reads neither JSON nor YAML: it becomes the whole one, which stands beside it in a build
 * tree and under libexec when installed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/explain.h"
#include "cli/serve.h"
#include "cli/source.h"
#include "cli/user_languages.h"

static const char *const places[] = { "sandbox-run-full",
                                      "../libexec/sandbox-run/sandbox-run-full" };

/* Returns only when it fails. */
static int become_whole(struct options *o, sbr_error *err)
{
    char own[4096], path[4200];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (len < 0)
        return err_set_errno(err, "request", "cannot find the program's own directory");
    own[len] = '\0';
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(path, sizeof(path), "%s/%s", own, places[i]);
        execv(path, o->argv);
    }
    return err_set_errno(err, "request", "cannot execute '%s', which reads requests and languages",
                         path);
}

int source_load_request(struct options *o, struct source *source, sbr_error *err)
{
    (void)source;
    return become_whole(o, err);
}

int explain_run(struct options *o)
{
    sbr_error err;

    (void)become_whole(o, &err); /* or never comes back */
    return cli_fail(o, &err);
}

int serve_run(struct options *o)
{
    sbr_error err;

    (void)become_whole(o, &err); /* or never comes back */
    return cli_fail(o, &err);
}

int user_languages(struct options *o, sbr_error *err)
{
    char dir[4096];

    if (o->n_language_files || (user_languages_dir(dir, sizeof(dir)) && access(dir, F_OK) == 0))
        return become_whole(o, err);
    return 0;
}
