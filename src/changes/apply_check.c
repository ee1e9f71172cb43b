/* Theory.  A change may be applied when the real tree is still what the program saw: the same file
 * by its identity or by its content.  What already is as it should be is done.  Everything else is
 * a conflict, and nothing is applied as long as there is one that is not forced. */
#include "changes/apply_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/text.h"
#include "changes/beneath.h"
#include "changes/node.h"

struct check {
    struct apply_plan *plan;
    const struct apply_options *options;
    const struct journal *journal;
    struct apply_report *report;
    sbr_error *err;
};

void apply_report_done(struct apply_report *report)
{
    for (size_t i = 0; i < report->conflicts.n; i++)
        free(report->conflicts.items[i].path);
    free(report->conflicts.items);
    for (size_t i = 0; i < report->n_left_out; i++)
        free(report->left_out[i].path);
    free(report->left_out);
    *report = (struct apply_report){ 0 };
}

void apply_report_put_json(struct jsonw *j, const struct apply_report *report, const char *done)
{
    jsonw_number(j, done, report->applied);
    jsonw_number(j, "already", report->already);
    jsonw_number(j, "skipped", report->skipped);
    jsonw_open(j, "conflicts", '[');
    for (size_t i = 0; i < report->conflicts.n; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_path(j, "path", report->conflicts.items[i].path);
        jsonw_text(j, "why", report->conflicts.items[i].why);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
    if (!report->n_left_out)
        return;
    jsonw_open(j, "left_out", '[');
    for (size_t i = 0; i < report->n_left_out && i < CHANGES_JSON_MAX; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_path(j, "path", report->left_out[i].path);
        jsonw_text(j, "executes", report->left_out[i].executes);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

int apply_conflict_add(struct step *step, const char *why, const struct apply_options *force,
                       struct apply_report *report, sbr_error *err)
{
    struct conflicts *list = &report->conflicts;
    struct conflict *grown;

    if (force && apply_path_is_covered(step->path, force->force, force->n_force)) {
        step->forced = true;
        step->state = STEP_TODO;
        return 0;
    }
    grown = realloc(list->items, (list->n + 1) * sizeof(*grown));
    step->state = STEP_CONFLICT;
    if (!grown)
        return err_set_oom(err, "apply");
    list->items = grown;
    grown[list->n].path = strdup(step->path);
    if (!grown[list->n].path)
        return err_set_oom(err, "apply");
    snprintf(grown[list->n].why, sizeof(grown[list->n].why), "%s", why);
    list->n++;
    return 0;
}

static int conflict(const struct check *c, struct step *step, const char *why)
{
    return apply_conflict_add(step, why, c->options, c->report, c->err);
}

/* One that cannot be forced. */
static int obstacle(const struct check *c, struct step *step, const char *why)
{
    return apply_conflict_add(step, why, NULL, c->report, c->err);
}

int apply_has_content(const struct apply_plan *e, const struct step *step, int content_fd,
                      const char *content)
{
    int root_fd = e->roots[step->root].fd;

    if (S_ISLNK(step->there.st_mode)) {
        size_t a_len, b_len;
        scoped_free char *a = node_link_text(root_fd, step->path, &a_len);
        scoped_free char *b = node_link_text(content_fd, content, &b_len);

        return a && b && a_len == b_len && memcmp(a, b, a_len) == 0;
    }
    if (S_ISREG(step->there.st_mode)) {
        struct node_state a_seen, b_seen;
        scoped_fd int a = node_open_file(root_fd, step->path, &a_seen);
        scoped_fd int b = a < 0 ? -1 : node_open_file(content_fd, content, &b_seen);

        if (a < 0 || b < 0) /* what cannot be read cannot be recognised */
            return 0;
        if (git_index_is(step->path) && node_same_index(a, b))
            return 1;
        if (a_seen.node.size != b_seen.node.size)
            return 0;
        return node_same_content(a, b, a_seen.node.size);
    }
    return 0;
}

/* 1 when the directory has a name that no step removes. */
static int look_for_others(const struct apply_plan *e, const struct step *step,
                           const struct listing *names)
{
    for (size_t i = 0; i < names->n; i++) {
        scoped_free char *path = text_format("%s/%s", step->path, names->names[i]);
        const struct step *child;

        if (!path)
            return -1;
        child = apply_plan_find(e, step->root, path, strlen(path));
        if ((!child || child->want.kind != NODE_NONE) &&
            strncmp(names->names[i], ".sandbox-run-", 13) != 0)
            return 1;
    }
    return 0;
}

int apply_has_others(const struct apply_plan *e, const struct step *step, sbr_error *err)
{
    scoped_fd int fd = node_open(e->roots[step->root].fd, step->path, O_RDONLY | O_DIRECTORY);
    scoped_listing struct listing names = { 0 };
    int r;

    if (fd < 0 && errno == EXDEV) /* something is mounted there */
        return 1;
    if (fd < 0 || listing_read(fd, &names) < 0)
        return apply_plan_fail(step, "look into", err);
    r = look_for_others(e, step, &names);
    return r < 0 ? err_set_oom(err, "apply") : r;
}

/* Compares stat.  Times of a directory say nothing, and a link that we made changes those of a
 * file. */
static bool is_same_node(const struct check *c, const struct step *step,
                         const struct node_state *there)
{
    const struct change *change = step->change;

    if (there->node.kind != change->base.kind || there->node.kind == NODE_DIR)
        return there->node.kind == change->base.kind;
    if (there->ino != change->base_ino || there->node.size != change->base.size ||
        there->node.mtime_ns != change->base.mtime_ns)
        return false;
    return there->ctime_ns == change->base_ctime_ns ||
           (!change->base_sum[0] && journal_find(c->journal, step->root, step->path));
}

static bool is_base(const struct check *c, const struct step *step, const struct node_state *there)
{
    const struct change *change = step->change;
    char sum[SHA256_HEX_SIZE];

    if (is_same_node(c, step, there))
        return true;
    if (there->node.kind != change->base.kind || !change->base_sum[0] ||
        (there->node.size != change->base.size && !git_index_is(step->path)))
        return false;
    return node_sum_at(c->plan->roots[step->root].fd, step->path, step->path, sum) == 0 &&
           strcmp(sum, change->base_sum) == 0;
}

static bool is_wanted(const struct check *c, const struct step *step,
                      const struct node_state *there)
{
    if (there->node.kind != step->want.kind)
        return false;
    if (step->mode_only)
        return (step->there.st_mode & 07777) == apply_plan_mode(step, 0);
    return apply_has_content(c->plan, step, c->plan->roots[step->root].content_fd, step->content) ==
           1;
}

/* A directory that is to be made is there: ours may lack its mode yet, any other is as good. */
static int check_made(const struct check *c, struct step *step)
{
    mode_t mode = apply_plan_mode(step, step->there.st_mode) & 0777;

    if (!journal_find(c->journal, step->root, step->path) || (step->there.st_mode & 0777) == mode)
        step->state = STEP_ALREADY;
    return 0;
}

/* The text of the new link. */
static int check_link(const struct check *c, struct step *step)
{
    const struct apply_root *root = &c->plan->roots[step->root];
    size_t len;
    scoped_free char *text = node_link_text(root->content_fd, step->content, &len);

    if (!text)
        return apply_plan_fail(step, "read the kept link", c->err);
    if (!beneath_link_stays(root->fd, root->source, step->path, text))
        return conflict(c, step, "is a link that leads out of the tree");
    return 0;
}

/* Whether the new content is whole. */
static int check_kept(const struct check *c, struct step *step)
{
    struct node_state seen;

    if (step->mode_only || (step->want.kind != NODE_FILE && step->want.kind != NODE_LINK))
        return 0;
    if (node_look(c->plan->roots[step->root].content_fd, step->content, &seen) < 0)
        return apply_plan_fail(step, "read the kept content of", c->err);
    if (seen.node.kind != step->want.kind ||
        (step->want.kind == NODE_FILE && seen.node.size != step->want.size))
        return obstacle(c, step, "is damaged where it was kept");
    return step->want.kind == NODE_LINK ? check_link(c, step) : 0;
}

/* The way there is a link, missing, or something else. */
static int check_barred(const struct check *c, struct step *step, int why)
{
    enum way way = apply_plan_way(c->plan, step);

    if (way == WAY_MADE)
        return check_kept(c, step);
    if (step->want.kind == NODE_NONE && (why == ENOENT || way == WAY_GOES)) {
        step->state = STEP_ALREADY;
        return 0;
    }
    if (why == ENOENT)
        return obstacle(c, step, "is in a directory that is gone");
    return obstacle(c, step,
                    why == EXDEV ? "is in another file system that is mounted there"
                                 : "is behind a link or a file that stands where a directory was");
}

/* The path is not what the program saw. */
static int check_changed(const struct check *c, struct step *step, const struct node_state *there)
{
    bool created = step->change->base.kind == NODE_NONE ||
                   (step->change->op == CHANGE_RENAMED && step->want.kind != NODE_NONE);

    if (there->node.kind == NODE_DIR && step->want.kind != NODE_DIR)
        return obstacle(c, step, "is a directory now");
    /* A kill came while a file and a directory changed places: the original is stored. */
    if (there->node.kind == NODE_NONE && !step->mode_only &&
        journal_find(c->journal, step->root, step->path))
        return 0;
    if (there->node.kind == NODE_NONE)
        return step->mode_only ? obstacle(c, step, "is gone") : conflict(c, step, "is gone");
    if (step->mode_only && there->node.kind != step->want.kind)
        return obstacle(c, step, "is something else now");
    return conflict(c, step, created ? "is there already" : "was changed since");
}

/* The path is what the program saw. */
static int check_unchanged(const struct check *c, struct step *step, const struct node_state *there)
{
    int r;

    if (step->change->raced && !(there->node.kind == NODE_DIR))
        return conflict(c, step, "was changed while the program ran");
    if (step->mode_only && (step->there.st_mode & 07777) != step->change->base.mode &&
        !journal_find(c->journal, step->root, step->path)) /* or it was opened by us */
        return conflict(c, step, "has another mode now");
    if (there->node.kind == NODE_DIR && step->want.kind != NODE_DIR) {
        r = apply_has_others(c->plan, step, c->err);
        if (r != 0)
            return r < 0 ? r : obstacle(c, step, "has files in it that came since");
    }
    if (!step->mode_only && step->want.kind != NODE_NONE && there->node.kind != NODE_DIR &&
        there->node.kind != NODE_NONE && geteuid() != 0 && step->there.st_uid != geteuid())
        return conflict(c, step, "belongs to another user, and would become yours");
    return 0;
}

static int check_step(const struct check *c, struct step *step)
{
    const struct change *change = step->change;
    bool is_new = change->base.kind == NODE_NONE ||
                  (change->op == CHANGE_RENAMED && step->path == change->path);
    struct node_state there = { 0 };
    int barred, r = apply_plan_look(c->plan, step, &barred, c->err);

    step->state = STEP_TODO;
    if (r < 0)
        return r;
    if (r == 0)
        return check_barred(c, step, barred);
    if (step->there.st_mode)
        there = node_state_of(&step->there);
    if (there.node.kind == NODE_NONE && step->want.kind == NODE_NONE) {
        step->state = STEP_ALREADY;
        return 0;
    }
    if (there.node.kind == NODE_DIR && step->want.kind == NODE_DIR && !step->mode_only)
        return check_made(c, step);
    if (there.node.kind != NODE_NONE && is_wanted(c, step, &there)) {
        step->state = STEP_ALREADY;
        return 0;
    }
    r = is_new ? there.node.kind == NODE_NONE
               : there.node.kind != NODE_NONE && is_base(c, step, &there);
    r = r ? check_unchanged(c, step, &there) : check_changed(c, step, &there);
    return r < 0 || step->state == STEP_CONFLICT ? r : check_kept(c, step);
}

int apply_check_steps(struct apply_plan *e, const struct apply_options *options,
                      const struct journal *journal, struct apply_report *report, sbr_error *err)
{
    const struct check c = { e, options, journal, report, err };

    for (size_t i = 0; i < e->n; i++)
        if (check_step(&c, &e->steps[i]) < 0)
            return err->code;
    return 0;
}
