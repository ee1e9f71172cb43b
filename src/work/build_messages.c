#include "work/build_messages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/scope.h"
#include "base/text.h"
#include "work/message_forms.h"

#define WORK "/work/"

static const char *const severity_names[] = {
    [MESSAGE_ERROR] = "error",
    [MESSAGE_WARNING] = "warning",
    [MESSAGE_NOTE] = "note",
};

const char *build_message_severity_name(enum message_severity severity)
{
    return severity_names[severity];
}

static char *visibly(struct message_span s)
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

static int add(struct build_messages *to, struct message_found *f, sbr_error *err)
{
    struct build_message m = { .severity = f->severity,
                               .line = (unsigned int)f->line,
                               .column = (unsigned int)f->column };
    struct build_message *grown;

    if (to->n == BUILD_MESSAGES_MOST) {
        to->dropped++;
        return 0;
    }
    if (!message_forms_take(&f->file, WORK)) {
        message_forms_take(&f->file, "./");
        while (message_forms_take(&f->file, "../")) /* from a build directory */
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
    struct message_lines lines = { 0 };
    scoped_free char *plain = without_colors(text, len, &lines.len);
    struct message_found found;

    if (!plain)
        return err_set_oom(err, "build");
    lines.text = plain;
    while (message_forms_next(&lines, &found))
        if (add(to, &found, err) < 0)
            return err->code;
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
