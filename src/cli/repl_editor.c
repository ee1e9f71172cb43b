/* The prompt at a terminal: an editor of cells (src/edit), a history for each language, completion
 * by the kernel. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/present.h"
#include "cli/repl.h"
#include "edit/screen.h"
#include "lib/prompt_history.h"

#define HISTORY_FILE_MAX ((size_t)64 << 20)
#define MATCHES_MAX 500
#define INDENT_SIZE 256
#define PROMPT_SIZE 80

/* Cells of one language that were typed before. */
struct kept_history {
    struct kept_history *next;
    char language[64];
    struct history history;
};

struct repl_editor {
    struct repl *repl;
    struct screen screen;
    struct editor editor;
    struct view view;
    struct kept_history *histories, *now;
    bool colors;
};

/* The history.  One that cannot be kept is no reason to refuse a prompt. */

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

/* A file in which most lines are of no use any more is written anew. */
static void shorten_file(const struct kept_history *kept)
{
    sbr_error ignored;
    struct buf lines;

    buf_init(&lines, HISTORY_FILE_MAX);
    for (size_t i = 0; i < kept->history.n; i++)
        history_write(kept->history.entries[i], strlen(kept->history.entries[i]), &lines);
    if (!lines.failed)
        (void)!prompt_history_replace(kept->language, lines.data, lines.len, &ignored);
    buf_done(&lines);
}

static void load(struct kept_history *kept)
{
    scoped_free char *text = NULL;
    sbr_error ignored;
    size_t len = 0;

    if (prompt_history_read(kept->language, &text, &len, &ignored) < 0)
        return;
    history_read(&kept->history, text, len);
    if (count_lines(text, len) > 2 * HISTORY_ENTRIES)
        shorten_file(kept);
}

static bool choose_history(struct repl_editor *in)
{
    struct kept_history *kept = in->histories;

    while (kept && strcmp(kept->language, in->repl->language) != 0)
        kept = kept->next;
    if (!kept) {
        kept = calloc(1, sizeof(*kept));
        if (!kept)
            return false;
        snprintf(kept->language, sizeof(kept->language), "%s", in->repl->language);
        load(kept);
        kept->next = in->histories;
        in->histories = kept;
    }
    in->now = kept;
    return true;
}

static void remember(struct repl_editor *in)
{
    const struct buf *text = &in->editor.text.text;
    sbr_error ignored;
    struct buf line;

    if (!history_add(&in->now->history, text->data, text->len))
        return;
    buf_init(&line, 8 * HISTORY_ENTRY_MAX);
    history_write(text->data, text->len, &line);
    if (!line.failed)
        (void)!prompt_history_add(in->now->language, line.data, line.len, &ignored);
    buf_done(&line);
}

/* Drawing. */

static void add_colors(void *context, const char *text, size_t len, struct buf *out)
{
    const struct repl_editor *in = context;

    highlight(in->repl->language, text, len, out);
}

static void draw(struct repl_editor *in, bool over)
{
    char prompt[PROMPT_SIZE], more[PROMPT_SIZE];
    struct view_look look = { .prompt = prompt, .more = more, .context = in };

    repl_prompt(in->repl, false, prompt, sizeof(prompt));
    repl_prompt(in->repl, true, more, sizeof(more));
    screen_size(&in->screen, &look.columns, &look.rows);
    look.color = in->colors ? add_colors : NULL;
    edit_view_make(&in->view, &in->editor, &look, over);
    screen_draw(&in->screen, &in->view, look.columns);
}

/* What is typed stays on the screen; what comes next stands below. */
static void end_cell(struct repl_editor *in, const char *with)
{
    draw(in, true);
    screen_forget(&in->screen);
    (void)fd_write_all(STDOUT_FILENO, with, strlen(with));
}

static void begin_cell(struct repl_editor *in)
{
    editor_begin(&in->editor, &in->now->history, "");
}

/* Completion. */

/* Of the names of lines with a colon. */
static void complete_command(struct repl_editor *in)
{
    const struct edit_text *t = &in->editor.text;
    const char *matches[MATCHES_MAX], *name;
    size_t n = 0;

    for (size_t i = 0; (name = repl_command_name(i)); i++)
        if (!strncmp(name, t->text.data + 1, t->cursor - 1))
            matches[n++] = name;
    editor_matches(&in->editor, matches, n, 1);
}

static void complete(struct repl_editor *in)
{
    struct edit_text *t = &in->editor.text;
    const char *matches[MATCHES_MAX];
    sbr_error ignored;
    json_t *answer, *data;
    const json_t *match;
    size_t i, n = 0;

    if (t->text.data[0] == ':') {
        complete_command(in);
        return;
    }
    answer =
        repl_ask(in->repl,
                 json_pack("{s:s, s:s%, s:I, s:s*}", "op", "complete", "code", t->text.data,
                           t->cursor, "cursor", (json_int_t)t->cursor, "lang", in->repl->second),
                 &ignored);
    data = json_object_get(answer, "data");
    json_array_foreach(json_object_get(data, "matches"), i, match)
        if (n < MATCHES_MAX && json_string_length(match))
            matches[n++] = json_string_value(match);
    editor_matches(&in->editor, matches, n,
                   (size_t)json_integer_value(json_object_get(data, "start")));
    json_decref(answer);
}

/* Enter. */

static bool is_blank_text(const struct edit_text *t)
{
    return strspn(t->text.data, " \t\n") == t->text.len;
}

/* Lines that come faster than a person types have their own indent. */
static void go_on(struct repl_editor *in, const char *indent)
{
    editor_new_line(&in->editor, screen_has_input(&in->screen) ? "" : indent);
}

static void copy_indent(const struct edit_text *t, char *indent, size_t size)
{
    const char *line = t->text.data + edit_text_line_begin(t);

    snprintf(indent, size, "%.*s", (int)strspn(line, " \t"), line);
}

/* True: the cell is whole.  A newline in the middle of one only breaks its line. */
static bool enter(struct repl_editor *in)
{
    struct edit_text *t = &in->editor.text;
    bool behind = edit_text_line_end(t) == t->text.len;
    size_t len = behind ? editor_cell_len(&in->editor) : t->cursor;
    char indent[INDENT_SIZE];

    if (t->text.data[0] == ':' || is_blank_text(t))
        return true;
    if (repl_is_complete(in->repl, t->text.data, len, indent, sizeof(indent)) && behind)
        return true;
    if (!indent[0] && !behind)
        copy_indent(t, indent, sizeof(indent));
    go_on(in, indent);
    return false;
}

/* True: there is a cell to run; a blank one only ends its line. */
static bool take_cell(struct repl_editor *in, struct buf *cell)
{
    const struct edit_text *t = &in->editor.text;

    end_cell(in, "\r\n");
    if (is_blank_text(t)) {
        begin_cell(in);
        return false;
    }
    remember(in);
    cell->len = 0;
    (void)buf_add(cell, t->text.data, editor_cell_len(&in->editor));
    return true;
}

static void stop(struct repl_editor *in)
{
    end_cell(in, "\r\n");
    screen_leave(&in->screen);
    kill(0, SIGTSTP); /* as the terminal would do */
    screen_take(&in->screen);
}

static void interrupt(struct repl_editor *in)
{
    repl_forget_interrupt();
    end_cell(in, "^C\r\n");
    begin_cell(in);
}

enum reading { READING_GOES_ON, READING_CELL, READING_OVER };

static enum reading fulfil(struct repl_editor *in, enum edit_wish wish, struct buf *cell)
{
    if (wish == EDIT_COMPLETE || wish == EDIT_ENTER)
        draw(in, false); /* the kernel may take long to answer */
    switch (wish) {
    case EDIT_NOTHING:
        break;
    case EDIT_ENTER:
        return enter(in) && take_cell(in, cell) ? READING_CELL : READING_GOES_ON;
    case EDIT_RUN:
        return take_cell(in, cell) ? READING_CELL : READING_GOES_ON;
    case EDIT_COMPLETE:
        complete(in);
        break;
    case EDIT_INTERRUPT:
        interrupt(in);
        break;
    case EDIT_OVER:
        end_cell(in, "\r\n");
        return READING_OVER;
    case EDIT_CLEAR:
        screen_clear(&in->screen);
        break;
    case EDIT_SUSPEND:
        stop(in);
        break;
    case EDIT_QUIT:
        end_cell(in, "\r\n");
        screen_leave(&in->screen);
        raise(SIGQUIT);
        screen_take(&in->screen);
        break;
    }
    return READING_GOES_ON;
}

static enum reading read_key(struct repl_editor *in, struct buf *cell)
{
    struct key key;

    if (!screen_has_input(&in->screen))
        draw(in, false);
    switch (screen_next(&in->screen, repl_has_interrupt, &key)) {
    case SCREEN_KEY:
        return fulfil(in, editor_key(&in->editor, &key, &in->screen.keys.paste), cell);
    case SCREEN_INTERRUPTED:
        interrupt(in);
        break;
    case SCREEN_RESIZED:
        break;
    case SCREEN_ENDED:
        end_cell(in, "\r\n");
        return READING_OVER;
    }
    return READING_GOES_ON;
}

bool repl_editor_cell(struct repl *r, struct buf *cell)
{
    struct repl_editor *in = r->editor;
    enum reading reading = READING_GOES_ON;

    fflush(stdout);
    if (!choose_history(in))
        return false;
    begin_cell(in);
    screen_take(&in->screen); /* before the prompt: keys that come early are shown once */
    while (reading == READING_GOES_ON)
        reading = read_key(in, cell);
    screen_leave(&in->screen);
    return reading == READING_CELL;
}

int repl_editor_open(struct repl *r, sbr_error *err)
{
    struct repl_editor *in = calloc(1, sizeof(*in));

    if (!in)
        return err_set_oom(err, "repl");
    if (!setlocale(LC_CTYPE, "") || !strcmp(setlocale(LC_CTYPE, NULL), "C"))
        setlocale(LC_CTYPE, "C.UTF-8"); /* cells are UTF-8 */
    in->repl = r;
    in->colors = present_uses_color(STDOUT_FILENO, r->o);
    if (!screen_init(&in->screen, STDIN_FILENO, STDOUT_FILENO)) {
        free(in);
        return 0;
    }
    editor_init(&in->editor);
    edit_view_init(&in->view);
    r->editor = in;
    return 0;
}

void repl_editor_close(struct repl *r)
{
    struct repl_editor *in = r->editor;

    while (in->histories) {
        struct kept_history *next = in->histories->next;

        history_done(&in->histories->history);
        free(in->histories);
        in->histories = next;
    }
    screen_done(&in->screen);
    editor_done(&in->editor);
    edit_view_done(&in->view);
    free(take_ptr(r->editor));
}
