/* Where the cells of a prompt come from.  At a terminal from the editor (repl_editor.c), otherwise
 * line by line: the kernel says when a cell is whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/repl.h"

#define PROMPT_SIZE 80

int repl_input_open(struct repl *r, sbr_error *err)
{
    const char *term = getenv("TERM");
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    r->dumb = terminal && (!term || !term[0] || !strcmp(term, "dumb"));
    return terminal && !r->dumb ? repl_editor_open(r, err) : 0;
}

void repl_input_close(struct repl *r)
{
    if (r->editor)
        repl_editor_close(r);
}

static void show_prompt(const struct repl *r, bool more)
{
    char text[PROMPT_SIZE];

    if (!r->dumb)
        return;
    repl_prompt(r, more, text, sizeof(text));
    fputs(text, stdout);
    fflush(stdout);
}

static char *without_newline(const char *line, size_t len)
{
    while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        len--;
    return strndup(line, len);
}

/* NULL: the input is over, or *interrupted.  A terminal gives a line at a time, so none waits in
 * the buffer of stdin while the wait is for the next one. */
static char *read_line(const struct repl *r, bool more, bool *interrupted)
{
    scoped_free char *line = NULL;
    size_t size = 0;
    ssize_t len = -1;

    show_prompt(r, more);
    clearerr(stdin);
    *interrupted = r->dumb && repl_await_line();
    if (!*interrupted) {
        len = getline(&line, &size, stdin);
        *interrupted = len < 0 && errno == EINTR && ferror(stdin);
    }
    if (len < 0 && r->dumb) {
        fputs("\n", stdout); /* behind the prompt */
        repl_forget_interrupt();
    }
    return len < 0 ? NULL : without_newline(line, (size_t)len);
}

static bool is_blank(const char *line)
{
    return !line[strspn(line, " \t")];
}

bool repl_input_cell(struct repl *r, struct buf *cell)
{
    char indent[256];

    if (r->editor)
        return repl_editor_cell(r, cell);
    for (;;) {
        bool interrupted;
        scoped_free char *line = read_line(r, cell->len > 0, &interrupted);

        if (interrupted) {
            cell->len = 0;
            continue;
        }
        if (!line)
            return cell->len > 0;
        if (!cell->len && (is_blank(line) || line[0] == ':')) {
            if (line[0] == ':' && buf_add_text(cell, line) == 0)
                return true;
            continue;
        }
        if (buf_add_text(cell, line) < 0 || !text_is_utf8(cell->data, cell->len))
            return true; /* the session says what is wrong with it */
        if (repl_is_complete(r, cell->data, cell->len, indent, sizeof(indent)))
            return true;
        if (buf_add_text(cell, "\n") < 0)
            return true;
    }
}
