#include "work/message_forms.h"

#include <ctype.h>
#include <string.h>

#define LONGEST_LINE 4000 /* longer ones are no message that a person reads */

static bool next_line(struct message_lines *lines, struct message_span *ret)
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

static bool begins_with(struct message_span s, const char *word)
{
    return s.len >= strlen(word) && !memcmp(s.at, word, strlen(word));
}

static struct message_span skip(struct message_span s, size_t n)
{
    return (struct message_span){ s.at + n, s.len - n };
}

static bool take(struct message_span *s, const char *word)
{
    if (!begins_with(*s, word))
        return false;
    *s = skip(*s, strlen(word));
    return true;
}

static bool take_number(struct message_span *s, unsigned long *ret)
{
    size_t n = 0;

    *ret = 0;
    while (n < s->len && n < 9 && isdigit((unsigned char)s->at[n]))
        *ret = *ret * 10 + (unsigned long)(s->at[n++] - '0');
    *s = skip(*s, n);
    return n > 0;
}

static struct message_span trim(struct message_span s)
{
    while (s.len && isspace((unsigned char)s.at[s.len - 1]))
        s.len--;
    while (s.len && isspace((unsigned char)*s.at))
        s = skip(s, 1);
    return s;
}

/* A name before `mark` that is not empty; a quote is part of a command that a tool repeats. */
static bool take_file(struct message_span *s, const char *mark, struct message_span *ret)
{
    const char *end = s->at ? memmem(s->at, s->len, mark, strlen(mark)) : NULL;

    if (!end || end == s->at || memchr(s->at, '\'', (size_t)(end - s->at)))
        return false;
    *ret = (struct message_span){ s->at, (size_t)(end - s->at) };
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

static bool take_severity(struct message_span *s, enum message_severity *ret)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (take(s, words[i].word)) {
            *ret = words[i].severity;
            return true;
        }
    return false;
}

/* "MESSAGE [-Wname]" */
static void split_code(struct message_found *f)
{
    const char *open = memrchr(f->text.at, '[', f->text.len);
    size_t before = open ? (size_t)(open - f->text.at) : 0;

    if (before < 2 || f->text.at[f->text.len - 1] != ']' || open[1] != '-')
        return;
    f->code = (struct message_span){ open + 1, f->text.len - before - 2 };
    f->text = trim((struct message_span){ f->text.at, before });
}

/* Where the line below the source line has nothing but a caret: javac counts no columns. */
static unsigned long caret_column(const struct message_lines *lines)
{
    struct message_lines ahead = *lines;
    struct message_span source, caret;

    if (!next_line(&ahead, &source) || !next_line(&ahead, &caret) || !caret.len ||
        caret.len > LONGEST_LINE || caret.at[caret.len - 1] != '^')
        return 0;
    for (size_t i = 0; i + 1 < caret.len; i++)
        if (!isspace((unsigned char)caret.at[i]))
            return 0;
    return caret.len;
}

/* FILE:LINE[:COLUMN]: SEVERITY: MESSAGE, as GCC, Clang, javac and Meson write it. */
static bool read_gcc(struct message_span line, struct message_lines *lines, struct message_found *f)
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
static bool read_go(struct message_span line, struct message_lines *lines, struct message_found *f)
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

static bool take_typescript_code(struct message_span *line, struct message_found *f)
{
    struct message_span code = *line;
    unsigned long number;

    if (!take(&code, "TS") || !take_number(&code, &number) || !take(&code, ": "))
        return false;
    f->code = (struct message_span){ line->at, line->len - code.len - 2 };
    f->text = trim(code);
    return true;
}

/* FILE(LINE,COLUMN): error TS2322: MESSAGE, and FILE:LINE:COLUMN - error TS2322: MESSAGE */
static bool read_tsc(struct message_span line, struct message_lines *lines, struct message_found *f)
{
    struct message_span pretty = line;
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
static bool read_tsc_alone(struct message_span line, struct message_lines *lines,
                           struct message_found *f)
{
    (void)lines;
    return take(&line, "error ") && take_typescript_code(&line, f);
}

/* " --> FILE:LINE:COLUMN" */
static bool take_arrow(struct message_span line, struct message_found *f)
{
    line = trim(line);
    return take(&line, "--> ") && take_file(&line, ":", &f->file) && take_number(&line, &f->line) &&
           take(&line, ":") && take_number(&line, &f->column);
}

/* error[E0308]: MESSAGE, with its place in one of the next lines; without one it sums up. */
static bool read_cargo(struct message_span line, struct message_lines *lines,
                       struct message_found *f)
{
    bool error = take(&line, "error");
    struct message_lines ahead = *lines;
    struct message_span next;

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
static bool read_maven(struct message_span line, struct message_lines *lines,
                       struct message_found *f)
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
static bool read_cmake(struct message_span line, struct message_lines *lines,
                       struct message_found *f)
{
    struct message_lines ahead = *lines;
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
static bool read_make(struct message_span line, struct message_lines *lines,
                      struct message_found *f)
{
    static const char stop[] = ".  Stop.";
    struct message_span end = line;

    (void)lines;
    if (line.len < strlen(stop) ||
        memcmp(line.at + line.len - strlen(stop), stop, strlen(stop)) != 0)
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
static bool read_linker(struct message_span line, struct message_lines *lines,
                        struct message_found *f)
{
    const char *said = memmem(line.at, line.len, "undefined reference to", 22);
    const char *open = said ? memmem(line.at, line.len, ":(", 2) : NULL;

    (void)lines;
    if (!open || open > said)
        return false;
    f->text = (struct message_span){ said, line.len - (size_t)(said - line.at) };
    take(&line, "/usr/bin/ld: ");
    f->file = (struct message_span){ line.at, (size_t)(open - line.at) };
    return open > line.at;
}

/* FILE.py:LINE: NameWarning: MESSAGE */
static bool read_python_warning(struct message_span line, struct message_lines *lines,
                                struct message_found *f)
{
    struct message_span name;

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

static bool take_frame(struct message_span line, struct message_found *f)
{
    line = trim(line);
    return take(&line, "File \"") && take_file(&line, "\"", &f->file) && take(&line, ", line ") &&
           take_number(&line, &f->line);
}

/* `  File "FILE", line N` and what is below it, up to "NameError: MESSAGE": the last frame is the
 * place.  A line that is not indented ends the trace. */
static bool read_python_trace(struct message_span line, struct message_lines *lines,
                              struct message_found *f)
{
    struct message_lines ahead = *lines;
    struct message_span next = { 0 };

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
static bool (*const readers[])(struct message_span line, struct message_lines *lines,
                               struct message_found *f) = {
    read_python_trace, read_python_warning, read_cmake,  read_maven,
    read_tsc,          read_tsc_alone,      read_make,   read_gcc,
    read_go,           read_cargo,          read_linker,
};

static bool read_any(struct message_span line, struct message_lines *lines,
                     struct message_found *ret)
{
    if (line.len > LONGEST_LINE)
        return false;
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
        *ret = (struct message_found){ .severity = MESSAGE_ERROR };
        if (readers[i](line, lines, ret))
            return true;
    }
    return false;
}

bool message_forms_next(struct message_lines *lines, struct message_found *ret)
{
    struct message_span line;

    while (next_line(lines, &line))
        if (read_any(line, lines, ret))
            return true;
    return false;
}

bool message_forms_take(struct message_span *s, const char *word)
{
    return take(s, word);
}
