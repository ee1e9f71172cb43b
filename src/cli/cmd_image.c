/* image: file systems of other machines that programs run on. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "changes/given_trees.h"
#include "cli/action.h"
#include "cli/amounts.h"
#include "cli/present.h"
#include "image/image_store.h"
#include "lib/image_making.h"
#include "lib/image_pull.h"
#include "lib/runner.h"

struct image_options {
    bool plain_http;
    const char *max_size, *tag;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "plain-http", NULL, "of `pull`: the registry has no TLS",
      OPTION_OWN(struct image_options, plain_http) },
    { 0, "max-size", "SIZE", "of `pull`: of what is unpacked (default: 40 times the packed size)",
      OPTION_OWN(struct image_options, max_size) },
    { 0, "tag", "NAME", "of `build`: what the image is called (default: localhost/NAME:latest)",
      OPTION_OWN(struct image_options, tag) },
    { 0 },
};
/* clang-format on */

static void say_done(const struct options *o, const char *what, const char *name, const char *id)
{
    struct jsonw j;

    if (!o->json) {
        if (!o->quiet)
            fprintf(stderr, "%s %s\n", what, name);
        return;
    }
    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, what, name);
    if (id)
        jsonw_text(&j, "id", id);
    jsonw_close(&j, '}');
    present_json(&j);
}

/* What a pull says: lines that stay, and on a terminal one below them that changes. */
struct said {
    const struct options *o;
    bool live; /* the last line on the terminal is to be replaced */
};

static void clear(struct said *said)
{
    if (said->live)
        fputs("\r\033[K", stderr);
    said->live = false;
}

static void tell(void *context, const char *line)
{
    struct said *said = context;

    clear(said);
    if (!said->o->quiet && !said->o->json)
        fprintf(stderr, "%s\n", line);
}

static void show(void *context, const char *line)
{
    struct said *said = context;

    /* A line that the terminal wraps cannot be replaced. */
    fprintf(stderr, "\r\033[K%.78s", line);
    said->live = true;
}

static struct image_pull pull_of(const sbr_runtime *rt, struct said *said)
{
    bool live = !said->o->quiet && !said->o->json && isatty(STDERR_FILENO);

    return (struct image_pull){
        .rt = rt, .progress = tell, .live = live ? show : NULL, .context = said
    };
}

static int pull_run(const struct options *o, sbr_error *err)
{
    const struct image_options *own = o->own;
    struct said said = { .o = o };
    struct image_pull pull;
    char id[SHA256_HEX_SIZE];
    enum text_fault fault;
    uint64_t most = 0;
    sbr_runtime *rt;
    int r;

    fault = own->max_size ? text_parse_size(own->max_size, &most) : TEXT_OK;
    if (fault != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "image", "--max-size '%.80s' %s; give one as in 20g",
                       own->max_size, text_fault_reason(fault));
    if (runner_open(RUNNER_ONCE, true, &rt, err) < 0)
        return err->code;
    pull = pull_of(rt, &said);
    pull.plain_http = own->plain_http;
    pull.max_size = most;
    r = image_pull(&pull, o->positional[1], id, err);
    clear(&said);
    sbr_runtime_close(rt);
    if (r == 0)
        say_done(o, "pulled", o->positional[1], id);
    return r;
}

static int export_run(const struct options *o, sbr_error *err)
{
    struct image_export order = { .ref = o->positional[1], .target = o->positional[2] };
    scoped_save_trees struct save_trees trees = { 0 };
    char digest[SHA256_HEX_SIZE];
    sbr_runtime *rt;
    int r;

    if (given_trees_find(NULL, &trees, err) < 0 || runner_open(RUNNER_ONCE, true, &rt, err) < 0)
        return err->code;
    order.rt = rt;
    order.trees = &trees;
    r = image_export(&order, digest, err);
    sbr_runtime_close(rt);
    if (r == 0)
        say_done(o, "exported", o->positional[2], digest);
    return r;
}

static int build_one(const struct options *o, const sbr_runtime *rt, const char *file,
                     sbr_error *err)
{
    const struct image_options *own = o->own;
    struct said said = { .o = o };
    struct image_build build = { .pull = pull_of(rt, &said), .file = file, .tag = own->tag };
    char id[SHA256_HEX_SIZE], ref[300];
    int r = image_build(&build, ref, id, err);

    clear(&said);
    if (r < 0)
        return r;
    say_done(o, "built", ref, id);
    return 0;
}

static int build_all(const struct options *o, const sbr_runtime *rt, sbr_error *err)
{
    const char *name;

    for (size_t i = 0; (name = image_recipe_name(i)); i++)
        if (build_one(o, rt, name, err) < 0)
            return err->code;
    return 0;
}

static int build_run(const struct options *o, sbr_error *err)
{
    const struct image_options *own = o->own;
    bool all = !strcmp(o->positional[1], "all");
    sbr_runtime *rt;
    int r;

    if (all && own->tag)
        return err_set(err, SBR_E_INVALID, "build",
                       "--tag names one image, and 'all' builds several; leave one of them out");
    if (runner_open(RUNNER_ONCE, true, &rt, err) < 0)
        return err->code;
    r = all ? build_all(o, rt, err) : build_one(o, rt, o->positional[1], err);
    sbr_runtime_close(rt);
    return r;
}

static int outdated_run(const struct options *o, sbr_error *err)
{
    struct string_list lines = { 0 };
    struct jsonw j;
    sbr_runtime *rt;
    int r;

    if (runner_open(RUNNER_ONCE, true, &rt, err) < 0)
        return err->code;
    r = image_build_outdated(rt, o->positional[1], o->n_positional > 2 ? o->positional[2] : NULL,
                             &lines, err);
    sbr_runtime_close(rt);
    for (size_t i = 0; r == 0 && !o->json && i < lines.n; i++)
        printf("%s\n", lines.items[i]);
    if (r == 0 && o->json) {
        jsonw_init(&j, present_has_lines());
        jsonw_open(&j, NULL, '{');
        jsonw_names(&j, "outdated", (const char *const *)lines.items, lines.n);
        jsonw_close(&j, '}');
        present_json(&j);
    }
    string_list_done(&lines);
    return r;
}

struct listing_of {
    struct jsonw *j; /* NULL: text */
    size_t n;
};

static int show_item(void *context, const struct image_item *item)
{
    struct listing_of *list = context;
    char idle[24];

    list->n++;
    if (!list->j) {
        amount_of_idle(item->named, idle, sizeof(idle));
        printf("%.12s  %5s  %s\n", item->id, idle, item->name);
        return 0;
    }
    jsonw_open(list->j, NULL, '{');
    jsonw_text(list->j, "name", item->name);
    jsonw_text(list->j, "id", item->id);
    jsonw_number(list->j, "pulled", (uint64_t)item->named);
    jsonw_close(list->j, '}');
    return 0;
}

static int list_run(const struct options *o, sbr_error *err)
{
    struct jsonw j;
    struct listing_of list = { 0 };
    int r;

    jsonw_init(&j, present_has_lines());
    list.j = o->json ? &j : NULL;
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "images", '[');
    r = image_store_list(show_item, &list, err);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    if (r == 0 && o->json)
        present_json(&j);
    else
        free(jsonw_take(&j));
    if (r == 0 && !o->json && !list.n)
        fprintf(stderr, "there is no image yet; `sandbox-run image pull debian:12` brings one\n");
    return r;
}

static void put_list(struct jsonw *j, const char *key, const struct string_list *list)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < list->n; i++)
        jsonw_text(j, NULL, list->items[i]);
    jsonw_close(j, ']');
}

/* The words are the image's: none of them moves the cursor. */
static void show_word(const char *title, const char *word)
{
    char shown[4096];

    text_copy_visibly(shown, sizeof(shown), word, strlen(word));
    printf("%-8s  %s\n", title, shown);
}

static void show_text(const char *title, const struct string_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        show_word(i ? "" : title, list->items[i]);
}

static int show_run(const struct options *o, sbr_error *err)
{
    struct image *image;
    struct jsonw j;

    if (image_open(o->positional[1], NULL, &image, err) < 0)
        return err->code;
    if (o->json) {
        jsonw_init(&j, present_has_lines());
        jsonw_open(&j, NULL, '{');
        jsonw_text(&j, "name", o->positional[1]);
        jsonw_text(&j, "id", image->id);
        put_list(&j, "env", &image->env);
        put_list(&j, "command", &image->command);
        jsonw_text(&j, "workdir", image->workdir);
        jsonw_text(&j, "user", image->user);
        jsonw_close(&j, '}');
        present_json(&j);
    } else {
        printf("%-8s  %s\n", "id", image->id);
        show_text("command", &image->command);
        show_text("env", &image->env);
        show_word("workdir", image->workdir ? image->workdir : "/work");
        if (image->user)
            show_word("user", image->user);
    }
    image_free(image);
    return 0;
}

static int rm_run(const struct options *o, sbr_error *err)
{
    struct image_ref ref;
    unsigned int removed;
    int r;

    if (image_ref_parse(o->positional[1], &ref, err) < 0)
        return err->code;
    r = image_store_forget(&ref, err);
    if (r == 0)
        return err_set(err, SBR_E_NOT_FOUND, "image",
                       "there is no image '%.150s'; `sandbox-run image list` shows those there are",
                       o->positional[1]);
    if (r < 0 || image_store_prune(&removed, err) < 0)
        return err->code;
    say_done(o, "removed", o->positional[1], NULL);
    return 0;
}

static int prune_run(const struct options *o, sbr_error *err)
{
    unsigned int removed;
    char count[40];

    image_fetch_dir_sweep();
    if (image_store_prune(&removed, err) < 0)
        return err->code;
    amount_of(removed, "tree", "trees", count, sizeof(count));
    say_done(o, "removed", count, NULL);
    return 0;
}

static const struct action actions[] = {
    { "list", list_run, 0, 0, "" },
    { "pull", pull_run, 1, 1, " REF" },
    { "show", show_run, 1, 1, " REF" },
    { "rm", rm_run, 1, 1, " REF" },
    { "prune", prune_run, 0, 0, "" },
    { "export", export_run, 2, 2, " REF TARGET" },
    { "build", build_run, 1, 1, " NAME|all|FILE" },
    { "outdated", outdated_run, 1, 2, " REF [FILE]" },
    { 0 },
};

static int image_run(struct options *o)
{
    sbr_error err = { 0 };
    const struct action *action = action_find(o, actions, &err);
    int r = action ? action->run(o, &err) : err.code;

    return r < 0 ? cli_fail(o, &err) : r;
}

const struct command cmd_image = {
    .name = "image",
    .usage =
        "[list | pull REF | show REF | rm REF | prune | export REF TARGET | build NAME|all|FILE | "
        "outdated REF [FILE]]",
    .help = "bring in, show and remove images, whose files programs see (--image)",
    .examples =
        "  sandbox-run image pull debian:12              from a registry, by skopeo\n"
        "  sandbox-run image pull oci:layout:latest      from an OCI layout of this machine\n"
        "  sandbox-run image pull docker-archive:app.tar what `docker save` wrote\n"
        "  sandbox-run exec --image debian:12 -- cat /etc/os-release\n"
        "  sandbox-run exec --image ./rootfs -- /bin/sh  a directory, without pulling\n"
        "  sandbox-run image export debian:12 oci:DIR    or oci-archive:FILE, docker-archive:FILE\n"
        "  sandbox-run image build python                from Debian packages, for "
        "localhost/python\n"
        "  sandbox-run image outdated localhost/python   its packages with newer versions\n"
        "  sandbox-run image rm debian:12\n\n"
        "A name without a registry means docker.io, as your registries.conf has it.\n",
    .own_size = sizeof(struct image_options),
    .options = (const struct option *const[]){ options_report, own_options, options_look,
                                               options_quiet, options_general, NULL },
    .ids = "image 2>/dev/null | sed \"s/.* //\"",
    .actions = actions,
    .run = image_run,
};
