/* `docker run` as words of `sandbox-run exec`: what needs the image for it. */
#include "cli/docker_words.h"

#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "image/image_store.h"
#include "lib/image_pull.h"
#include "lib/runner.h"

static void tell(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* As Docker, brings an image that is not there. */
int docker_words_image(const char *ref, sbr_error *err)
{
    struct image_pull pull = { .progress = tell };

    return image_pull_missing(&pull, ref, err);
}

static int add_all(struct string_list *list, char **words, size_t n, sbr_error *err)
{
    for (size_t i = 0; i < n && words[i]; i++)
        if (string_list_add(list, words[i], err) < 0)
            return err->code;
    return 0;
}

/* Adds `--env NAME=VALUE`, unless the value is empty. */
static int add_variable(struct string_list *list, const char *name, const char *value,
                        sbr_error *err)
{
    scoped_free char *text = text_format("%s=%s", name, value);

    if (!value[0])
        return 0;
    if (!text)
        return err_set_oom(err, "docker");
    return string_list_add(list, "--env", err) < 0 ? err->code : string_list_add(list, text, err);
}

/* A sandbox has one user, whose numbers the image gives.  --user can name that one and no other. */
static int add_user(struct string_list *list, const struct image *image, const char *user,
                    sbr_error *err)
{
    const struct plan_image_user *own = image->plan.user;
    const uint32_t uid = own ? own->uid : INSIDE_UID, gid = own ? own->gid : INSIDE_GID;
    struct plan_image_user asked;

    if (!user)
        return 0;
    if (!image_user_look_up(image, user, &asked))
        return err_set(err, SBR_E_INVALID, "docker", "--user '%.80s': the image has no such %s",
                       user, strchr(user, ':') ? "user or group" : "user");
    if (asked.uid != uid || asked.gid != gid)
        return err_set(err, SBR_E_UNSUPPORTED, "docker",
                       "--user '%.80s' is refused: programs of this image are always user %u of "
                       "group %u, to whom all of its files belong; leave the option out",
                       user, uid, gid);
    return add_variable(list, "USER", asked.name, err) < 0
               ? err->code
               : add_variable(list, "HOME", asked.home, err);
}

/* The entrypoint comes first, whatever the command is; one of the caller's drops the image's
 * command, too. */
static int add_command(struct string_list *list, const struct image *image,
                       const struct docker_run *run, sbr_error *err)
{
    int r = string_list_add(list, "--", err);
    size_t before = list->n;

    if (r == 0 && run->entrypoint)
        r = run->entrypoint[0] ? string_list_add(list, run->entrypoint, err) : 0;
    else if (r == 0)
        r = add_all(list, image->command.items,
                    run->command[0] ? image->n_entrypoint : image->command.n, err);
    if (r == 0)
        r = add_all(list, run->command, SIZE_MAX, err);
    if (r == 0 && list->n == before) /* `exec` would take the image's own */
        r = err_set(err, SBR_E_INVALID, "docker",
                    "no command is specified; give one behind the image");
    return r;
}

/* The words of `sandbox-run exec`.  The variables of the user come before those of the caller, of
 * which the last one counts. */
int docker_words_exec(struct string_list *list, const struct docker_run *run, sbr_error *err)
{
    struct image *image = NULL;
    int r = image_open(run->image, NULL, &image, err);

    if (r == 0 && (r = string_list_add(list, "exec", err)) == 0 &&
        (r = add_user(list, image, run->user, err)) == 0 &&
        (r = add_all(list, run->words.items, run->words.n, err)) == 0 &&
        (!run->name || (r = string_list_add(list, "--keep-output", err)) == 0))
        r = add_command(list, image, run, err);
    image_free(image);
    return r;
}
