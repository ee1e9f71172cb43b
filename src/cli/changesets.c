#include "cli/changesets.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "cli/present.h"
#include "config/audit.h"
#include "model/executes.h"

#define LEFT_SHOWN 40

/* clang-format off */
const struct option options_changeset[] = {
    { 'y', "yes",   NULL,   "do it without asking", OPTION_OWN(struct changeset_options, yes) },
    { 0,   "force", "PATH", "this path, though it conflicts; repeatable",
      OPTION_OWN(struct changeset_options, force) },
    { 0,   "also",  "PATH", "apply: this path too, which others execute; repeatable",
      OPTION_OWN(struct changeset_options, also) },
    { 0 },
};
/* clang-format on */

/* In /work relative to it; in another tree the whole path inside. */
static void print_path(FILE *out, const struct changes *changes, const struct change *c,
                       const char *path)
{
    const char *target = changes->roots[c->root].target;
    scoped_free char *whole = NULL;

    if (strcmp(target, "/work") == 0) {
        present_name(out, path);
        return;
    }
    if (asprintf(&whole, "%s/%s", target, path) < 0)
        whole = NULL;
    present_name(out, whole ? whole : path);
}

/* What applying it will do, for a list that comes before the question. */
static const char *const coming_names[N_CHANGE_OPS] = {
    [CHANGE_CREATED] = "create", [CHANGE_MODIFIED] = "modify", [CHANGE_DELETED] = "delete",
    [CHANGE_RENAMED] = "rename", [CHANGE_MODE] = "mode",
};

static void print_change(FILE *out, const struct changes *changes, const struct change *c,
                         bool coming)
{
    const struct node *node = c->op == CHANGE_DELETED ? &c->base : &c->now;
    const char *executes = executes_change(c), *mark = executes_mark(c);
    char size[SIZE_TEXT_SIZE];

    fprintf(out, "%-8s  ", coming ? coming_names[c->op] : change_op_name(c->op));
    if (c->from) {
        print_path(out, changes, c, c->from);
        fputs(" -> ", out);
    }
    print_path(out, changes, c, c->path);
    if (c->op == CHANGE_MODE)
        fprintf(out, "  %03o -> %03o", c->base.mode, c->now.mode);
    else if (c->op == CHANGE_MODIFIED && c->base.kind != c->now.kind)
        fprintf(out, "  %s -> %s", changes_node_kind_name(c->base.kind),
                changes_node_kind_name(c->now.kind));
    if (node->kind == NODE_FILE && c->op != CHANGE_MODE) {
        changes_size_text(node->size, size);
        fprintf(out, "  %s", size);
    } else if (node->kind != NODE_FILE && c->op != CHANGE_MODIFIED) {
        fprintf(out, "  %s", changes_node_kind_name(node->kind));
    }
    if (executes)
        fprintf(out, "  (%s: others execute it)", executes);
    else if (mark)
        fprintf(out, "  (%s)", mark);
    fputs(c->raced ? "  (changed outside meanwhile)\n" : "\n", out);
}

/* Git's own files are what a commit or a look at the repository leaves: one line stands for all
 * that nobody executes. */
void changesets_print_changes(FILE *out, const struct changes *changes, size_t most, bool coming)
{
    size_t shown = 0, left = 0, of_git = 0;

    for (size_t i = 0; i < changes->n; i++) {
        if (executes_is_bookkeeping(&changes->items[i]))
            of_git++;
        else if (shown < most && ++shown)
            print_change(out, changes, &changes->items[i], coming);
        else
            left++;
    }
    if (left)
        fprintf(out, "... and %zu more\n", left);
    if (of_git)
        fprintf(out, "%-8s  .git  %zu of git's own files\n", coming ? "modify" : "modified",
                of_git);
}

/* The rest of `word` below `top`; NULL: it is not below it. */
static const char *below(const char *word, const char *top)
{
    size_t len = strlen(top);

    if (strncmp(word, top, len) != 0 || (word[len] != '/' && word[len] != '\0'))
        return NULL;
    return word + len + strspn(word + len, "/");
}

/* Relative to the tree, without "./"; removes slashes at the end of `word` itself. */
static const char *normalize(char *word, const struct changeset *changeset)
{
    const char *path = word;

    for (size_t len = strlen(word); len > 1 && word[len - 1] == '/'; len--)
        word[len - 1] = '\0';
    for (size_t i = 0; path[0] == '/' && i < changeset->changes.n_roots; i++) {
        const struct change_root *root = &changeset->changes.roots[i];
        const char *rest = below(path, root->source);

        if (!rest)
            rest = below(path, root->target);
        path = rest ? rest : path;
    }
    while (path[0] == '.' && path[1] == '/')
        path += 1 + strspn(path + 1, "/");
    return strcmp(path, ".") == 0 ? "" : path;
}

int changesets_words(const struct options *o, const struct changeset *changeset,
                     struct apply_options *ret, sbr_error *err)
{
    const struct changeset_options none = { 0 }, *own = o->own ? o->own : &none;
    const char **paths = calloc(o->n_positional + 1, sizeof(*paths));
    const char **force = calloc(own->force.n + 1, sizeof(*force));
    const char **also = calloc(own->also.n + 1, sizeof(*also));
    bool all = false;

    *ret = (struct apply_options){ .paths = paths, .force = force, .also = also };
    if (!paths || !force || !also) {
        changesets_words_done(ret);
        return err_set_oom(err, "options");
    }
    for (size_t i = 1; i < o->n_positional; i++) {
        if (!o->positional[i][0]) { /* a variable that is not set in a script must not mean all */
            changesets_words_done(ret);
            return err_set(err, SBR_E_INVALID, "options",
                           "an empty path is none; leave it out, or say . for all");
        }
        paths[ret->n_paths] = normalize(o->positional[i], changeset);
        all = all || !*paths[ret->n_paths];
        ret->n_paths++;
    }
    for (size_t i = 0; i < own->force.n; i++)
        force[ret->n_force++] = normalize((char *)own->force.items[i], changeset);
    for (size_t i = 0; i < own->also.n; i++)
        also[ret->n_also++] = normalize((char *)own->also.items[i], changeset);
    if (all)
        ret->n_paths = 0;
    return 0;
}

void changesets_words_done(struct apply_options *options)
{
    free((void *)options->paths);
    free((void *)options->force);
    free((void *)options->also);
    *options = (struct apply_options){ 0 };
}

int changesets_ask(const struct options *o, const char *question, const char *command,
                   sbr_error *err)
{
    const struct changeset_options *own = o->own;
    char line[16] = "";

    if (own->yes)
        return 1;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(
            err, SBR_E_INVALID, command,
            "`sandbox-run %s` asks before it changes anything, and there is no terminal; "
            "--yes answers it",
            command);
    fprintf(stderr, "%s [y/N] ", question);
    fflush(stderr);
    if (!fgets(line, sizeof(line), stdin))
        fputc('\n', stderr);
    return line[0] == 'y' || line[0] == 'Y';
}

static void report_json(const struct changeset *changeset, const struct apply_report *report,
                        const char *done)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "id", changeset->id);
    apply_report_put_json(&j, report, done);
    jsonw_close(&j, '}');
    present_json(&j);
}

static void report_conflicts(const struct apply_report *report, const char *done)
{
    for (size_t i = 0; i < report->conflicts.n; i++) {
        fputs("conflict: ", stderr);
        present_name(stderr, report->conflicts.items[i].path);
        fprintf(stderr, " %s\n", report->conflicts.items[i].why);
    }
    fprintf(stderr,
            "sandbox-run: nothing was %s because of %zu %s; --force PATH does it all the same, "
            "one path at a time\n",
            done, report->conflicts.n, report->conflicts.n == 1 ? "conflict" : "conflicts");
}

void changesets_print_left(const struct apply_report *report)
{
    for (size_t i = 0; i < report->n_left_out && i < LEFT_SHOWN; i++) {
        fputs("executed  ", stderr);
        present_name(stderr, report->left_out[i].path);
        fprintf(stderr, "  (%s)\n", report->left_out[i].executes);
    }
    if (report->n_left_out > LEFT_SHOWN)
        fprintf(stderr, "... and %zu more\n", report->n_left_out - LEFT_SHOWN);
}

/* What others execute must not become real unseen. */
static void report_left(const struct changeset *changeset, const struct apply_report *report)
{
    if (!report->n_left_out)
        return;
    changesets_print_left(report);
    fprintf(stderr,
            "sandbox-run: %zu left out, because git, an editor or another tool executes or trusts "
            "%s; look at them, then `sandbox-run apply %.*s --also PATH`\n",
            report->n_left_out, report->n_left_out == 1 ? "it" : "them", PRESENT_ID, changeset->id);
}

int changesets_report(const struct options *o, const struct changeset *changeset,
                      const struct apply_report *report, const char *done, const char *summary)
{
    bool undo = strcmp(done, "undone") == 0;

    if (o->json)
        report_json(changeset, report, done);
    else if (report->conflicts.n)
        report_conflicts(report, done);
    if (report->conflicts.n)
        return EXIT_DENIED;
    if (o->json)
        return 0;
    if (!report->applied)
        fprintf(stderr, "sandbox-run: nothing was left to be %s", done);
    else if (summary && !report->already)
        fprintf(stderr, "sandbox-run: %s", summary);
    else
        fprintf(stderr, "sandbox-run: %zu %s, %zu %s", report->applied, done, report->already,
                undo ? "were back already" : "were like that already");
    if (report->skipped)
        fprintf(stderr, "; %zu left out, as pipes, sockets and devices are not made",
                report->skipped);
    if (!undo && changeset->applied)
        fprintf(stderr, "; `sandbox-run undo %.*s` takes it back", PRESENT_ID, changeset->id);
    fputc('\n', stderr);
    report_left(changeset, report);
    return 0;
}

int changesets_record(const char *kind, const struct changeset *changeset, sbr_error *err)
{
    const struct audit_field fields[] = { { "changes", changeset->id },
                                          { "program", changeset->about } };

    return audit_note_if_wanted(kind, fields, ARRAY_LEN(fields), err);
}

int changesets_command(struct options *o, const char *command, changeset_work *work)
{
    struct apply_options options = { 0 };
    struct changeset changeset;
    sbr_error err;
    int r;

    if (o->n_positional < 1) {
        err_set(&err, SBR_E_INVALID, command,
                "say which: `sandbox-run %s ID`; `sandbox-run changes list` shows them", command);
        return cli_fail(o, &err);
    }
    r = changeset_open(o->positional[0], &changeset, &err);
    if (r < 0)
        return cli_fail(o, &err);
    r = changesets_words(o, &changeset, &options, &err);
    if (r == 0)
        r = work(o, &changeset, &options, &err);
    changesets_words_done(&options);
    changeset_close(&changeset);
    return r < 0 ? cli_fail(o, &err) : r;
}
