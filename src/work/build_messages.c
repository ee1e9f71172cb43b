/* lint-ok: length: one reader for each form of message, all on the same few words */
#include "work/build_messages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/scope.h"
#include "base/text.h"

#define WORK "/work/"
#define LONGEST_LINE 4000 /* longer ones are no message that a person reads */

static const char *const severity_names[] = {
    [MESSAGE_ERROR] = "error",
    [MESSAGE_WARNING] = "warning",
    [MESSAGE_NOTE] = "note",
};

const char *build_message_severity_name(enum message_severity severity)
{
    return severity_names[severity];
}

/* Bytes of the output; not NUL-terminated. */
struct span {
    const char *at;
    size_t len;
};

struct found {
    enum message_severity severity;
    struct span file, text, code;
    unsigned long line, column;
};

/* The line that is looked at, and those behind it. */
struct lines {
    const char *text;
    size_t len;
    size_t at; /* of the next line */
};

static bool next_line(struct lines *lines, struct span *ret)
{
    const char *end;

    if (lines->at >= lines->len)
        return false;
    ret->at = lines->text + lines->at;
    end = memchr(ret->at, '\n', lines->len - lines->at);
    ret->len = end ? (size_t)(end - ret->at) : lines->len - lines->at;
    lines->at += ret->len + 1;
    if (ret->len && ret->at[ret->len - 1] == '\r')
        ret->len--;
    return true;
}

static bool begins_with(struct span s, const char *word)
{
    return s.len >= strlen(word) && !memcmp(s.at, word, strlen(word));
}

static struct span skip(struct span s, size_t n)
{
    return (struct span){ s.at + n, s.len - n };
}

/* Takes the word off the front; false: it is not there. */
static bool take(struct span *s, const char *word)
{
    if (!begins_with(*s, word))
        return false;
    *s = skip(*s, strlen(word));
    return true;
}

static bool take_number(struct span *s, unsigned long *ret)
{
    size_t n = 0;

    *ret = 0;
    while (n < s->len && n < 9 && isdigit((unsigned char)s->at[n]))
        *ret = *ret * 10 + (unsigned long)(s->at[n++] - '0');
    *s = skip(*s, n);
    return n > 0;
}

static struct span trim(struct span s)
{
    while (s.len && isspace((unsigned char)s.at[s.len - 1]))
        s.len--;
    while (s.len && isspace((unsigned char)*s.at))
        s = skip(s, 1);
    return s;
}

/* A name before `mark` that is not empty; a quote is part of a command that a tool repeats. */
static bool take_file(struct span *s, const char *mark, struct span *ret)
{
    const char *end = memmem(s->at, s->len, mark, strlen(mark));

    if (!end || end == s->at || memchr(s->at, '\'', (size_t)(end - s->at)))
        return false;
    *ret = (struct span){ s->at, (size_t)(end - s->at) };
    *s = skip(*s, ret->len + strlen(mark));
    return true;
}

static const struct {
    const char *word;
    enum message_severity severity;
} words[] = {
    { "fatal error: ", MESSAGE_ERROR }, { "error: ", MESSAGE_ERROR },
    { "ERROR: ", MESSAGE_ERROR },       { "warning: ", MESSAGE_WARNING },
    { "WARNING: ", MESSAGE_WARNING },   { "note: ", MESSAGE_NOTE },
};

static bool take_severity(struct span *s, enum message_severity *ret)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (take(s, words[i].word)) {
            *ret = words[i].severity;
            return true;
        }
    return false;
}

/* "MESSAGE [-Wname]" */
static void split_code(struct found *f)
{
    const char *open = memrchr(f->text.at, '[', f->text.len);
    size_t before = open ? (size_t)(open - f->text.at) : 0;

    if (before < 2 || f->text.at[f->text.len - 1] != ']' || open[1] != '-')
        return;
    f->code = (struct span){ open + 1, f->text.len - before - 2 };
    f->text = trim((struct span){ f->text.at, before });
}

/* Where the line below the source line has nothing but a caret: javac counts no columns. */
static unsigned long caret_column(const struct lines *lines)
{
    struct lines ahead = *lines;
    struct span source, caret;

    if (!next_line(&ahead, &source) || !next_line(&ahead, &caret) || !caret.len ||
        caret.len > LONGEST_LINE || caret.at[caret.len - 1] != '^')
        return 0;
    for (size_t i = 0; i + 1 < caret.len; i++)
        if (!isspace((unsigned char)caret.at[i]))
            return 0;
    return caret.len;
}

/* FILE:LINE[:COLUMN]: SEVERITY: MESSAGE, as GCC, Clang, javac and Meson write it. */
static bool read_gcc(struct span line, struct lines *lines, struct found *f)
{
    if (!take_file(&line, ":", &f->file) || !take_number(&line, &f->line) || !take(&line, ":"))
        return false;
    if (take_number(&line, &f->column) && !take(&line, ":"))
        return false;
    if (!take(&line, " ") || !take_severity(&line, &f->severity))
        return false;
    f->text = trim(line);
    split_code(f);
    if (!f->column)
        f->column = caret_column(lines);
    return true;
}

/* FILE.go:LINE:COLUMN: MESSAGE; vet says its name first. */
static bool read_go(struct span line, struct lines *lines, struct found *f)
{
    (void)lines;
    take(&line, "vet: ");
    if (!take_file(&line, ":", &f->file) || f->file.len < 4 ||
        memcmp(f->file.at + f->file.len - 3, ".go", 3) != 0 || isspace((unsigned char)*f->file.at))
        return false;
    if (!take_number(&line, &f->line) || !take(&line, ":"))
        return false;
    if (take_number(&line, &f->column) && !take(&line, ":"))
        return false;
    f->text = trim(line);
    return f->text.len > 0;
}

static bool take_typescript_code(struct span *line, struct found *f)
{
    struct span code = *line;
    unsigned long number;

    if (!take(&code, "TS") || !take_number(&code, &number) || !take(&code, ": "))
        return false;
    f->code = (struct span){ line->at, line->len - code.len - 2 };
    f->text = trim(code);
    return true;
}

/* FILE(LINE,COLUMN): error TS2322: MESSAGE, and FILE:LINE:COLUMN - error TS2322: MESSAGE */
static bool read_tsc(struct span line, struct lines *lines, struct found *f)
{
    struct span pretty = line;
    bool plain = take_file(&line, "(", &f->file) && take_number(&line, &f->line) &&
                 take(&line, ",") && take_number(&line, &f->column) && take(&line, "): ");

    (void)lines;
    if (!plain) {
        line = pretty;
        if (!take_file(&line, ":", &f->file) || !take_number(&line, &f->line) ||
            !take(&line, ":") || !take_number(&line, &f->column) || !take(&line, " - "))
            return false;
    }
    f->severity = begins_with(line, "warning") ? MESSAGE_WARNING : MESSAGE_ERROR;
    return (take(&line, "error ") || take(&line, "warning ")) && take_typescript_code(&line, f);
}

/* error TS18003: MESSAGE, of a configuration */
static bool read_tsc_alone(struct span line, struct lines *lines, struct found *f)
{
    (void)lines;
    return take(&line, "error ") && take_typescript_code(&line, f);
}

/* " --> FILE:LINE:COLUMN" */
static bool take_arrow(struct span line, struct found *f)
{
    line = trim(line);
    return take(&line, "--> ") && take_file(&line, ":", &f->file) && take_number(&line, &f->line) &&
           take(&line, ":") && take_number(&line, &f->column);
}

/* error[E0308]: MESSAGE, with its place in one of the next lines; without one it sums up. */
static bool read_cargo(struct span line, struct lines *lines, struct found *f)
{
    bool error = take(&line, "error");
    struct lines ahead = *lines;
    struct span next;

    if (!error && !take(&line, "warning"))
        return false;
    f->severity = error ? MESSAGE_ERROR : MESSAGE_WARNING;
    if (take(&line, "[") && !take_file(&line, "]", &f->code))
        return false;
    if (!take(&line, ": "))
        return false;
    f->text = trim(line);
    for (int i = 0; i < 3 && next_line(&ahead, &next); i++)
        if (take_arrow(next, f))
            return true;
    return false;
}

/* [ERROR] FILE:[LINE,COLUMN] MESSAGE */
static bool read_maven(struct span line, struct lines *lines, struct found *f)
{
    bool error = take(&line, "[ERROR] ");

    (void)lines;
    if (!error && !take(&line, "[WARNING] "))
        return false;
    f->severity = error ? MESSAGE_ERROR : MESSAGE_WARNING;
    if (!take_file(&line, ":[", &f->file) || !take_number(&line, &f->line) || !take(&line, ",") ||
        !take_number(&line, &f->column) || !take(&line, "]"))
        return false;
    f->text = trim(line);
    take(&f->text, "error: ");
    return true;
}

/* "CMake Error at FILE:LINE (command):", an indented message follows. */
static bool read_cmake(struct span line, struct lines *lines, struct found *f)
{
    struct lines ahead = *lines;
    bool error = take(&line, "CMake Error at ");

    if (!error && !take(&line, "CMake Warning at ") && !take(&line, "CMake Warning (dev) at "))
        return false;
    f->severity = error ? MESSAGE_ERROR : MESSAGE_WARNING;
    if (!take_file(&line, ":", &f->file) || !take_number(&line, &f->line))
        return false;
    while (next_line(&ahead, &f->text)) {
        f->text = trim(f->text);
        if (f->text.len)
            return true;
    }
    return false;
}

/* "FILE:LINE: *** MESSAGE.  Stop." and "make: *** MESSAGE.  Stop."; that a recipe failed is no
 * message of its own. */
static bool read_make(struct span line, struct lines *lines, struct found *f)
{
    static const char stop[] = ".  Stop.";
    struct span end = line;

    (void)lines;
    if (line.len < strlen(stop) || memcmp(line.at + line.len - strlen(stop), stop, strlen(stop)))
        return false;
    if (take(&line, "make: *** ") || take(&line, "make[1]: *** ")) {
        f->text = line;
    } else {
        if (!take_file(&end, ":", &f->file) || !take_number(&end, &f->line) ||
            !take(&end, ": *** "))
            return false;
        f->text = end;
    }
    f->text.len -= strlen(stop);
    return f->text.len > 0;
}

/* "FILE:(.text+0x5): undefined reference to `f'", with the linker's name before it or not */
static bool read_linker(struct span line, struct lines *lines, struct found *f)
{
    const char *said = memmem(line.at, line.len, "undefined reference to", 22);
    const char *open = said ? memmem(line.at, line.len, ":(", 2) : NULL;

    (void)lines;
    if (!open || open > said)
        return false;
    f->text = (struct span){ said, line.len - (size_t)(said - line.at) };
    take(&line, "/usr/bin/ld: ");
    f->file = (struct span){ line.at, (size_t)(open - line.at) };
    return open > line.at;
}

/* FILE.py:LINE: NameWarning: MESSAGE */
static bool read_python_warning(struct span line, struct lines *lines, struct found *f)
{
    struct span name;

    (void)lines;
    if (!take_file(&line, ".py:", &f->file) || !take_number(&line, &f->line) ||
        !take(&line, ": ") || !take_file(&line, ": ", &name) || name.len < 7 ||
        memcmp(name.at + name.len - 7, "Warning", 7) != 0)
        return false;
    f->file.len += 3;
    f->severity = MESSAGE_WARNING;
    f->code = name;
    f->text = trim(line);
    return true;
}

static bool take_frame(struct span line, struct found *f)
{
    line = trim(line);
    return take(&line, "File \"") && take_file(&line, "\"", &f->file) && take(&line, ", line ") &&
           take_number(&line, &f->line);
}

/* `  File "FILE", line N` and what is below it, up to "NameError: MESSAGE": the last frame is the
 * place.  A line that is not indented ends the trace. */
static bool read_python_trace(struct span line, struct lines *lines, struct found *f)
{
    struct lines ahead = *lines;
    struct span next = { 0 };

    if (!begins_with(line, "  File \"") || !take_frame(line, f))
        return false;
    while (next_line(&ahead, &next)) {
        if (begins_with(next, "  File \""))
            (void)take_frame(next, f);
        else if (!next.len || *next.at != ' ')
            break;
        lines->at = ahead.at;
    }
    return take_file(&next, ": ", &f->code) && !memchr(f->code.at, ' ', f->code.len) &&
           (f->text = trim(next)).len > 0;
}

/* The first that knows the line takes it; those that ask for more come first. */
static bool (*const readers[])(struct span line, struct lines *lines, struct found *f) = {
    read_python_trace, read_python_warning, read_cmake,  read_maven,
    read_tsc,          read_tsc_alone,      read_make,   read_gcc,
    read_go,           read_cargo,          read_linker,
};

static char *visibly(struct span s)
{
    char copy[BUILD_MESSAGES_TEXT];

    text_copy_visibly(copy, sizeof(copy), s.at, s.len);
    return strdup(copy);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool is_known(const struct build_messages *to, const struct build_message *m)
{
    for (size_t i = 0; i < to->n; i++)
        if (to->items[i].line == m->line && to->items[i].column == m->column &&
            same_text(to->items[i].file, m->file) && same_text(to->items[i].text, m->text))
            return true;
    return false;
}

static void message_done(struct build_message *m)
{
    free(m->file);
    free(m->text);
    free(m->code);
}

static int add(struct build_messages *to, struct found *f, sbr_error *err)
{
    struct build_message m = { .severity = f->severity,
                               .line = (unsigned int)f->line,
                               .column = (unsigned int)f->column };
    struct build_message *grown;

    if (to->n == BUILD_MESSAGES_MOST) {
        to->dropped++;
        return 0;
    }
    if (!take(&f->file, WORK)) {
        take(&f->file, "./");
        while (take(&f->file, "../")) /* from a build directory */
            ;
    }
    m.file = f->file.len ? visibly(f->file) : NULL;
    m.text = visibly(f->text);
    m.code = f->code.len ? visibly(f->code) : NULL;
    if (!m.text || (f->file.len && !m.file) || (f->code.len && !m.code)) {
        message_done(&m);
        return err_set_oom(err, "build");
    }
    if (is_known(to, &m)) {
        message_done(&m);
        return 0;
    }
    grown = reallocarray(to->items, to->n + 1, sizeof(*grown));
    if (!grown) {
        message_done(&m);
        return err_set_oom(err, "build");
    }
    to->items = grown;
    grown[to->n++] = m;
    return 0;
}

/* Colours end up in output that is no terminal's, too: the copy has none. */
static char *without_colors(const char *text, size_t len, size_t *ret_len)
{
    char *copy = malloc(len + 1);
    size_t n = 0;

    for (size_t i = 0; copy && i < len; i++) {
        if (text[i] == '\033' && i + 1 < len && text[i + 1] == '[') {
            i += 2;
            while (i < len && (isdigit((unsigned char)text[i]) || text[i] == ';'))
                i++;
        } else {
            copy[n++] = text[i];
        }
    }
    *ret_len = n;
    return copy;
}

int build_messages_read(const char *text, size_t len, struct build_messages *to, sbr_error *err)
{
    struct lines lines = { 0 };
    scoped_free char *plain = without_colors(text, len, &lines.len);
    struct span line;

    if (!plain)
        return err_set_oom(err, "build");
    lines.text = plain;
    while (next_line(&lines, &line)) {
        for (size_t i = 0; line.len <= LONGEST_LINE && i < sizeof(readers) / sizeof(*readers);
             i++) {
            struct found f = { .severity = MESSAGE_ERROR };

            if (!readers[i](line, &lines, &f))
                continue;
            if (add(to, &f, err) < 0)
                return err->code;
            break;
        }
    }
    return 0;
}

size_t build_messages_count(const struct build_messages *messages, enum message_severity severity)
{
    size_t n = 0;

    for (size_t i = 0; i < messages->n; i++)
        n += messages->items[i].severity == severity;
    return n;
}

static void put_position(struct jsonw *j, const char *key, unsigned int value)
{
    if (value)
        jsonw_number(j, key, value);
    else
        jsonw_null(j, key);
}

void build_messages_put_json(struct jsonw *j, const char *key,
                             const struct build_messages *messages)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < messages->n; i++) {
        const struct build_message *m = &messages->items[i];

        jsonw_open(j, NULL, '{');
        jsonw_text(j, "severity", severity_names[m->severity]);
        jsonw_text(j, "file", m->file);
        put_position(j, "line", m->line);
        put_position(j, "column", m->column);
        jsonw_text(j, "message", m->text);
        jsonw_text(j, "code", m->code);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

void build_messages_done(struct build_messages *messages)
{
    for (size_t i = 0; i < messages->n; i++)
        message_done(&messages->items[i]);
    free(messages->items);
    *messages = (struct build_messages){ 0 };
}
