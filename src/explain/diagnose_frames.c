/* The frames that lead to an error.  A path inside is the user's, a library's, or ours, which users
 * need not see. */
#include <stdlib.h>
#include <string.h>

#include "explain/diagnose_internal.h"

enum owner { OWNER_USER, OWNER_LIBRARY, OWNER_US };

/* The rest of a path below a directory, or NULL. */
static const char *path_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    while (len > 0 && dir[len - 1] == '/')
        len--;
    if (strncmp(path, dir, len) != 0 || path[len] != '/')
        return NULL;
    path += len;
    while (*path == '/')
        path++;
    return path;
}

static bool is_ours(const struct diagnose_state *s, const char *path)
{
    const char *driver = s->in->driver ? s->in->driver : "/driver";

    if (path_below(path, driver))
        return true;
    for (unsigned int i = 0; i < s->rules->ours.n; i++)
        if (pattern_compile(&s->ours[i]) && regexec(&s->ours[i].regex, path, 0, NULL, 0) == 0)
            return true;
    return false;
}

/* A Java trace has only the last component. */
static const char *user_file(const struct diagnose_input *in, const char *path)
{
    const sbr_request *req = in->request;

    if (in->main_file && strcmp(path, in->main_file) == 0)
        return in->main_file;
    for (size_t i = 0; req && i < req->n_files; i++)
        if (strcmp(req->files[i].path, path) == 0)
            return req->files[i].path;
    for (size_t i = 0; req && i < req->n_files && !strchr(path, '/'); i++) {
        const char *slash = strrchr(req->files[i].path, '/');

        if (slash && strcmp(slash + 1, path) == 0)
            return req->files[i].path;
    }
    return NULL;
}

/* *ret points into `path` or into the request. */
static enum owner path_owner(const struct diagnose_state *s, const char *path, const char **ret)
{
    const char *below, *known;

    if (strncmp(path, "file://", 7) == 0)
        path += 7;
    *ret = path;
    if (is_ours(s, path))
        return OWNER_US;
    below = s->in->work ? path_below(path, s->in->work) : NULL;
    if (!below && path[0] == '/')
        return OWNER_LIBRARY;
    if (below)
        path = below;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    known = user_file(s->in, path);
    *ret = known ? known : path;
    return known || below ? OWNER_USER : OWNER_LIBRARY;
}

/* Converts a line of the harness to one of the snippet in it; its other lines are ours. */
static enum owner line_owner(const struct diagnose_input *in, const char *file, unsigned int *line)
{
    if (in->code_line == 0 || !in->main_file || strcmp(file, in->main_file) != 0)
        return OWNER_USER;
    if (*line < in->code_line || *line - in->code_line >= in->code_lines)
        return OWNER_US;
    *line -= in->code_line - 1;
    return OWNER_USER;
}

/* Sets the file of a frame only when the frame is worth keeping. */
static enum owner frame_place(const struct diagnose_state *s, char *path,
                              struct diagnosis_frame *frame)
{
    const char *file;
    enum owner owner = path_owner(s, path, &file);

    if (owner == OWNER_USER)
        owner = line_owner(s->in, file, &frame->line);
    if (owner != OWNER_US && file[0] != '\0') {
        frame->file = strdup(file);
        if (frame->file)
            diagnose_wording_clean(frame->file, PATTERN_MAX_LINE);
    }
    return owner;
}

struct frame_list {
    struct diagnosis_frame at[DIAGNOSIS_MAX_FRAMES];
    size_t n;
};

static void frame_done(struct diagnosis_frame *frame)
{
    free(frame->file);
    free(frame->function);
    *frame = (struct diagnosis_frame){ 0 };
}

/* The same location twice, once with less detail: some tools name it above the trace as well. */
static bool frame_merge(struct diagnosis_frame *known, struct diagnosis_frame *frame)
{
    if (known->line != frame->line || strcmp(known->file, frame->file) != 0 ||
        (known->column && frame->column) || (known->function && frame->function))
        return false;
    known->column += frame->column;
    if (!known->function)
        known->function = take_ptr(frame->function);
    frame_done(frame);
    return true;
}

/* Takes ownership of the frame. */
static void frame_add(struct frame_list *list, struct diagnosis_frame *frame)
{
    if (list->n > 0 && frame_merge(&list->at[list->n - 1], frame))
        return;
    if (list->n == DIAGNOSIS_MAX_FRAMES)
        frame_done(frame);
    else
        list->at[list->n++] = *frame;
}

static void frame_read(const struct diagnose_state *s, const struct frame_rule *rule,
                       const struct hit *hit, struct frame_list lists[2])
{
    scoped_free char *path = rule->file > 0 ? pattern_hit_group(hit, rule->file) : NULL;
    struct diagnosis_frame frame = {
        .line = pattern_hit_number(hit, rule->line),
        .column = pattern_hit_number(hit, rule->column),
    };
    enum owner owner = path ? frame_place(s, path, &frame) : OWNER_US;

    if (!frame.file)
        return;
    if (rule->function > 0)
        frame.function = pattern_hit_group(hit, rule->function);
    if (frame.function)
        diagnose_wording_clean(frame.function, PATTERN_MAX_LINE);
    if (frame.function && frame.function[0] == '\0') {
        free(frame.function);
        frame.function = NULL;
    }
    frame_add(&lists[owner], &frame);
}

static bool frame_at(const struct diagnose_state *s, size_t line, struct hit *hit,
                     struct frame_list lists[2])
{
    for (unsigned int i = 0; i < s->rules->n_frames; i++) {
        if (pattern_matches(&s->frames[i], &s->lines, line, WINDOW_STARTS, hit)) {
            frame_read(s, &s->rules->frames[i], hit, lists);
            return true;
        }
    }
    return false;
}

/* Innermost first: down or up from the error, to the next error.  A compiler ends its text on one
 * error with an empty line. */
static void frames_collect(const struct diagnose_state *s, const struct hit *error,
                           struct frame_list lists[2])
{
    bool down = s->rules->innermost_first;
    size_t line = error->last;
    scoped_free struct hit *hit = malloc(sizeof(*hit));

    if (hit && down)
        frame_at(s, error->first, hit, lists); /* may also name the function */
    while (hit && (down ? line + 1 < s->lines.n : line > 0)) {
        line = down ? line + 1 : line - 1;
        if (s->in->compile && down && s->lines.at[line][0] == '\0')
            break;
        if (!frame_at(s, line, hit, lists) && diagnose_error_at(s, line, hit))
            break;
    }
}

/* Adds the location in the error's own line as the innermost frame. */
static void place_read(const struct diagnose_state *s, const struct error_rule *rule,
                       const struct hit *hit, struct frame_list lists[2])
{
    const struct frame_rule place = { .file = rule->file,
                                      .line = rule->line,
                                      .column = rule->column };
    scoped_free char *path = NULL;

    if (rule->file > 0)
        frame_read(s, &place, hit, lists);
    else if (rule->line > 0 && s->in->main_file) { /* the tool knows only one file */
        struct diagnosis_frame frame = { .line = pattern_hit_number(hit, rule->line),
                                         .column = pattern_hit_number(hit, rule->column) };

        path = strdup(s->in->main_file);
        if (path && frame.line > 0 && frame_place(s, path, &frame) == OWNER_USER && frame.file)
            frame_add(&lists[OWNER_USER], &frame);
    }
}

void diagnose_frames_fill(const struct diagnose_state *s, const struct error_rule *rule,
                          const struct hit *hit, struct diagnosis *d)
{
    struct frame_list *lists = calloc(2, sizeof(*lists));

    if (!lists)
        return;
    place_read(s, rule, hit, lists);
    frames_collect(s, hit, lists);
    if (lists[OWNER_USER].n > 0) {
        const struct diagnosis_frame *innermost = &lists[OWNER_USER].at[0];

        d->file = strdup(innermost->file);
        d->line = innermost->line;
        d->column = innermost->column;
    }
    for (int owner = OWNER_USER; owner <= OWNER_LIBRARY; owner++) {
        for (size_t i = 0; i < lists[owner].n; i++) {
            if (d->n_frames < DIAGNOSIS_MAX_FRAMES)
                d->frames[d->n_frames++] = lists[owner].at[i];
            else
                frame_done(&lists[owner].at[i]);
        }
    }
    free(lists);
}
