/* Where the lines of a prompt come from.  At a terminal from libedit: editing, a history for each
 * language, completion by the kernel, pasted text as one cell.  Otherwise line by line. */
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "base/scope.h"
#include "cli/highlight.h"
#include "cli/present.h"
#include "cli/repl.h"
#include "lib/prompt_history.h"

#define HISTORY_LINES 2000
#define PASTE_MAX ((size_t)16 << 20)
#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"
#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define PATH_SIZE 1300

/* Ctrl-D.  One that was typed while a cell ran, when the terminal collected lines, arrives as a
 * zero byte: the terminal's driver keeps it in that form until somebody reads. */
#define END_OF_FILE L'\4'

struct repl_input {
    struct repl *repl;
    EditLine *edit; /* NULL: a plain reader */
    bool dumb;      /* a terminal that can only print: a prompt, but no editing */
    History *history;
    char path[PATH_SIZE]; /* of the history; empty: it is not kept */
    bool more, colors;
    struct buf *cell; /* of the line that is read */
};

static char *prompt_of(const struct repl_input *in)
{
    static char text[80];
    size_t len = strlen(in->repl->language);

    if (in->more)
        snprintf(text, sizeof(text), "%*s> ", (int)(len > 3 ? len : 3), "...");
    else
        snprintf(text, sizeof(text), "%.60s> ", in->repl->language);
    return text;
}

static char *prompt(EditLine *edit)
{
    struct repl_input *in;

    el_get(edit, EL_CLIENTDATA, &in);
    return prompt_of(in);
}

static size_t characters(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* How far all matches agree. */
static size_t common_length(const json_t *matches)
{
    const char *first = json_string_value(json_array_get(matches, 0));
    size_t len = first ? strlen(first) : 0, i;
    const json_t *match;

    json_array_foreach(matches, i, match) {
        const char *text = json_string_value(match);
        size_t n = 0;

        while (text && n < len && text[n] == first[n])
            n++;
        len = n;
    }
    while (len && ((unsigned char)first[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static void list_matches(struct repl_input *in, const json_t *matches)
{
    const json_t *match;
    size_t i;

    fputc('\n', stdout);
    json_array_foreach(matches, i, match) {
        const char *text = json_string_value(match);

        display_text(&in->repl->display, STDOUT_FILENO, text, strlen(text));
        fputs((i + 1) % 4 ? "    " : "\n", stdout);
    }
    fputs(i % 4 ? "\n" : "", stdout);
    fflush(stdout);
}

/* Puts what is certain into the line.  False when nothing is. */
static bool insert_match(EditLine *edit, const json_t *matches, const char *word, size_t len)
{
    size_t common = common_length(matches);
    scoped_free char *text = NULL;

    if (!common || (common <= len && json_array_size(matches) > 1))
        return false;
    text = strndup(json_string_value(json_array_get(matches, 0)), common);
    if (!text || (common == len && !strncmp(text, word, len)))
        return false;
    el_deletestr(edit, (int)characters(word, len));
    el_insertstr(edit, text);
    return true;
}

static unsigned char complete(EditLine *edit, int key)
{
    struct repl_input *in;
    const LineInfo *line = el_line(edit);
    size_t before = (size_t)(line->cursor - line->buffer), start;
    sbr_error ignored;
    struct buf code;
    json_t *answer, *data, *matches;
    unsigned char done = CC_ERROR;

    (void)key;
    el_get(edit, EL_CLIENTDATA, &in);
    if (strspn(line->buffer, " \t") >= before)
        return el_insertstr(edit, "    ") < 0 ? CC_ERROR : CC_REFRESH;
    buf_init(&code, PASTE_MAX);
    buf_add(&code, in->cell->data, in->cell->len);
    buf_add(&code, line->buffer, before);
    answer = repl_ask(in->repl,
                      json_pack("{s:s, s:s%, s:I, s:s*}", "op", "complete", "code", code.data,
                                code.len, "cursor", (json_int_t)code.len, "lang", in->repl->second),
                      &ignored);
    data = json_object_get(answer, "data");
    matches = json_object_get(data, "matches");
    start = (size_t)json_integer_value(json_object_get(data, "start"));
    if (json_array_size(matches) && start <= code.len && code.len - start <= before) {
        size_t len = code.len - start;

        if (insert_match(edit, matches, line->cursor - len, len)) {
            done = CC_REFRESH;
        } else if (json_array_size(matches) > 1) {
            list_matches(in, matches);
            done = CC_REDISPLAY;
        }
    }
    json_decref(answer);
    buf_done(&code);
    return done;
}

/* Reads pasted bytes up to their end. */
static void read_paste(EditLine *edit, struct buf *text)
{
    const size_t end = sizeof(PASTE_END) - 1;
    char c;

    while (el_getc(edit, &c) == 1) {
        if (buf_add(text, c == '\r' ? "\n" : &c, 1) < 0)
            return;
        if (text->len >= end && !memcmp(text->data + text->len - end, PASTE_END, end)) {
            text->len -= end;
            return;
        }
    }
}

/* Pasted lines become part of the cell at once; the last one can be edited. */
static unsigned char paste(EditLine *edit, int key)
{
    struct repl_input *in;
    const LineInfo *line = el_line(edit);
    size_t typed = (size_t)(line->lastchar - line->buffer), kept = 0;
    struct buf text;

    (void)key;
    el_get(edit, EL_CLIENTDATA, &in);
    buf_init(&text, PASTE_MAX);
    buf_add(&text, line->buffer, typed);
    read_paste(edit, &text);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n')
            kept = i + 1;
    if (kept && buf_add(in->cell, text.data, kept) == 0) {
        printf("\r\033[K%s", prompt(edit));
        display_text(&in->repl->display, STDOUT_FILENO, text.data, kept);
        fflush(stdout);
        in->more = true;
    }
    el_cursor(edit, (int)characters(line->cursor, (size_t)(line->lastchar - line->cursor)));
    el_deletestr(edit, (int)characters(line->buffer, typed));
    buf_add(&text, "", 1);
    if (text.data && text.data[kept])
        el_insertstr(edit, text.data + kept);
    buf_done(&text);
    return kept ? CC_REDISPLAY : CC_REFRESH;
}

/* The line in colours, over the one that the editor has drawn: the same characters in the same
 * places, so that the editor's picture of the screen stays true.  Only for a line that fits into
 * one row of the screen, and whose characters are all one column wide. */
static void draw_colors(EditLine *edit, struct repl_input *in)
{
    const LineInfo *line = el_line(edit);
    size_t len = (size_t)(line->lastchar - line->buffer), width = strlen(prompt(edit));
    size_t before = characters(line->buffer, (size_t)(line->cursor - line->buffer));
    struct winsize size = { 0 };
    struct buf out;

    for (size_t i = 0; i < len; i++)
        if (line->buffer[i] & 0x80)
            return;
    if (!len || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || width + len >= size.ws_col)
        return;
    buf_init(&out, PASTE_MAX);
    buf_printf(&out, "\r\033[%zuC", width);
    highlight(in->repl->language, line->buffer, len, &out);
    buf_printf(&out, "\r\033[%zuC", width + before);
    fwrite(out.data, 1, out.len, stdout);
    fflush(stdout);
    buf_done(&out);
}

/* Waits for a key.  An interrupt counts also when it came before the wait, as while the kernel
 * completed a word. */
static bool is_interrupted(void)
{
    struct pollfd waiting = { .fd = STDIN_FILENO, .events = POLLIN };
    sigset_t interrupt, before;

    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    while (!repl_has_interrupt() && ppoll(&waiting, 1, NULL, &before) < 0 && errno == EINTR)
        ;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = EINTR;
    return repl_has_interrupt();
}

/* The editor draws, then asks for the next key: between the two the line gets its colours.  Bytes
 * that wait already, as of a text that is pasted, come first. */
static int next_key(EditLine *edit, wchar_t *ret)
{
    struct pollfd waiting = { .fd = STDIN_FILENO, .events = POLLIN };
    mbstate_t state = { 0 };
    struct repl_input *in;
    unsigned char c;
    size_t n = 0;

    el_get(edit, EL_CLIENTDATA, &in);
    if (in->colors && poll(&waiting, 1, 0) == 0)
        draw_colors(edit, in);
    if (is_interrupted())
        return -1;
    do {
        ssize_t got = read(STDIN_FILENO, &c, 1);

        if (got <= 0)
            return (int)got;
        n = mbrtowc(ret, (const char *)&c, 1, &state);
    } while (n == (size_t)-2);
    if (n == (size_t)-1)
        *ret = L'?';
    else if (n == 0)
        *ret = END_OF_FILE;
    return 1;
}

/* A history that cannot be kept is no reason to refuse a prompt. */
static void open_history(struct repl_input *in)
{
    sbr_error ignored;
    HistEvent event;

    in->history = history_init();
    if (!in->history)
        return;
    history(in->history, &event, H_SETSIZE, HISTORY_LINES);
    history(in->history, &event, H_SETUNIQUE, 1);
    if (prompt_history_path(in->repl->language, in->path, sizeof(in->path), &ignored) == 0)
        history(in->history, &event, H_LOAD, in->path);
    else
        in->path[0] = '\0';
}

static void save_history(const struct repl_input *in)
{
    HistEvent event;
    mode_t before;

    if (!in->history || !in->path[0])
        return;
    before = umask(077);
    history(in->history, &event, H_SAVE, in->path);
    umask(before);
}

static void open_editor(struct repl_input *in)
{
    if (!setlocale(LC_CTYPE, "") || !strcmp(setlocale(LC_CTYPE, NULL), "C"))
        setlocale(LC_CTYPE, "C.UTF-8"); /* cells are UTF-8 */
    in->edit = el_init("sandbox-run", stdin, stdout, stderr);
    if (!in->edit)
        return;
    open_history(in);
    in->colors = present_uses_color(STDOUT_FILENO, in->repl->o);
    el_set(in->edit, EL_CLIENTDATA, in);
    el_set(in->edit, EL_GETCFN, next_key);
    el_set(in->edit, EL_PROMPT, prompt);
    el_set(in->edit, EL_EDITOR, "emacs");
    el_set(in->edit, EL_SIGNAL, 0);
    if (in->history)
        el_set(in->edit, EL_HIST, history, in->history);
    el_set(in->edit, EL_ADDFN, "sandbox-run-complete", "asks the kernel", complete);
    el_set(in->edit, EL_BIND, "^I", "sandbox-run-complete", NULL);
    el_set(in->edit, EL_ADDFN, "sandbox-run-paste", "takes pasted text", paste);
    el_set(in->edit, EL_BIND, PASTE_BEGIN, "sandbox-run-paste", NULL);
    el_set(in->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
}

int repl_input_open(struct repl *r, sbr_error *err)
{
    const char *term = getenv("TERM");
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    r->input = calloc(1, sizeof(*r->input));
    if (!r->input)
        return err_set_oom(err, "repl");
    r->input->repl = r;
    r->input->dumb = terminal && (!term || !strcmp(term, "dumb"));
    if (terminal && !r->input->dumb)
        open_editor(r->input);
    return 0;
}

void repl_input_close(struct repl *r)
{
    struct repl_input *in = r->input;

    if (in->edit) {
        save_history(in);
        el_end(in->edit);
        if (in->history)
            history_end(in->history);
    }
    free(in);
    r->input = NULL;
}

static char *without_newline(const char *line, size_t len)
{
    while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        len--;
    return strndup(line, len);
}

static void show_prompt(const struct repl_input *in)
{
    if (!in->dumb)
        return;
    fputs(prompt_of(in), stdout);
    fflush(stdout);
}

/* Negative, with `again`: it was interrupted.  A terminal gives a line at a time, so none waits in
 * the buffer of stdin while the wait is for the next one. */
static ssize_t read_line(const struct repl_input *in, char **line, size_t *size, bool *again)
{
    ssize_t len;

    clearerr(stdin);
    *again = in->dumb && is_interrupted();
    if (*again)
        return -1;
    len = getline(line, size, stdin);
    *again = len < 0 && errno == EINTR && ferror(stdin);
    return len;
}

static int plain_line(const struct repl_input *in, char **ret)
{
    scoped_free char *line = NULL;
    size_t size = 0;
    bool again;
    ssize_t len;

    do {
        show_prompt(in);
        len = read_line(in, &line, &size, &again);
        if (len < 0 && in->dumb) {
            fputs("\n", stdout); /* behind the prompt */
            repl_forget_interrupt();
        }
    } while (again);
    *ret = len < 0 ? NULL : without_newline(line, (size_t)len);
    return 0;
}

int repl_input_line(struct repl *r, bool more, struct buf *cell, const char *indent, char **ret)
{
    struct repl_input *in = r->input;
    const char *line;
    HistEvent event;
    int len = 0;

    in->more = more;
    if (!in->edit)
        return plain_line(in, ret);
    in->cell = cell;
    if (indent[0])
        el_push(in->edit, indent);
    el_set(in->edit, EL_PREP_TERM, 1); /* before the prompt: keys that come early are shown once */
    fputs(PASTE_ON, stdout);
    fflush(stdout);
    errno = 0;
    line = el_gets(in->edit, &len);
    fputs(PASTE_OFF, stdout);
    if (!line && len < 0 && errno == EINTR) {
        repl_forget_interrupt();
        fputs("^C\n", stdout);
        fflush(stdout);
        el_reset(in->edit);
        return 1;
    }
    if (!line || len <= 0)
        fputc('\n', stdout); /* behind the prompt */
    fflush(stdout);
    *ret = line && len > 0 ? without_newline(line, (size_t)len) : NULL;
    if (in->history && *ret && (*ret)[strspn(*ret, " \t")])
        history(in->history, &event, H_ENTER, *ret);
    return 0;
}
