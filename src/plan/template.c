#include "plan/template.h"

#include <string.h>

#include "base/text.h"

#define NAME_MAX_LEN 64
#define CODE "code"

/* State of one expansion. */
struct expansion {
    const struct template_input *in;
    struct buf *out;
    size_t start; /* start of the program in `out` */
    const struct literal_style *style;
    struct template_place place; /* code_line is 0 until the code is inserted */
    unsigned int code_seen;      /* line of the template; 0: not yet */
    bool used[TEMPLATE_MAX_VALUES];
};

/* The content of one pair of double braces. */
struct marker {
    char name[NAME_MAX_LEN + 1];
    bool raw;
    size_t len;        /* with the braces */
    unsigned int line; /* of the template */
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t name_length(const char *text)
{
    size_t len = 0;

    if (!is_letter(text[0]))
        return 0;
    while (is_letter(text[len]) || (text[len] >= '0' && text[len] <= '9') || text[len] == '-')
        len++;
    return len;
}

bool template_name_is_valid(const char *name)
{
    size_t len = name_length(name);

    return len > 0 && len <= NAME_MAX_LEN && name[len] == '\0' && strcmp(name, CODE) != 0;
}

static unsigned int count_lines(const char *text, size_t len)
{
    const char *end = text + len;
    unsigned int n = 0;

    while (len && (text = memchr(text, '\n', (size_t)(end - text)))) {
        n++;
        text++;
    }
    return n;
}

static int refuse_braces(const struct expansion *e, unsigned int line, const char *why,
                         sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "template",
                   "%s:%u: %s: write {{NAME}} or {{NAME:raw}}, or {{{{ for two braces", e->in->name,
                   line, why);
}

/* `at` follows the opening braces; `left` is the length of the template from there. */
static int marker_parse(const struct expansion *e, const char *at, size_t left, struct marker *ret,
                        sbr_error *err)
{
    struct marker m = { .line = count_lines(e->in->text, (size_t)(at - e->in->text)) + 1 };
    const char *newline = memchr(at, '\n', left);
    const char *end = memmem(at, newline ? (size_t)(newline - at) : left, "}}", 2);
    char inner[NAME_MAX_LEN + 32] = "", *name = inner, *rest;
    size_t len;

    if (!end)
        return refuse_braces(e, m.line, "'{{' without '}}' in the same line", err);
    if ((size_t)(end - at) >= sizeof(inner))
        return refuse_braces(e, m.line, "'{{' with a name that is too long", err);
    memcpy(inner, at, (size_t)(end - at));
    name += strspn(name, " \t");
    len = name_length(name);
    rest = name + len;
    if (strncmp(rest, ":raw", 4) == 0) {
        m.raw = true;
        rest += 4;
    }
    rest += strspn(rest, " \t");
    if (len == 0 || len > NAME_MAX_LEN || rest != inner + (end - at))
        return refuse_braces(e, m.line, "'{{' without a name", err);
    memcpy(m.name, name, len);
    m.len = (size_t)(end - at) + 4;
    *ret = m;
    return 0;
}

/* The length of the last line of the program so far if it is only blanks; 0 otherwise. */
static size_t indent_length(const struct expansion *e)
{
    size_t n = 0, len = e->out->len - e->start;
    const char *end = e->out->data + e->out->len;

    while (n < len && (end[-1 - (ptrdiff_t)n] == ' ' || end[-1 - (ptrdiff_t)n] == '\t'))
        n++;
    return n == len || end[-1 - (ptrdiff_t)n] == '\n' ? n : 0;
}

static void put_indented(struct expansion *e, const char *blanks, size_t n)
{
    const char *at = e->in->code, *end = at + e->in->code_len;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;

        if (at > e->in->code && *at != '\n' && *at != '\r')
            buf_add(e->out, blanks, n);
        buf_add(e->out, at, (size_t)(next - at));
        at = next;
    }
}

static int put_code(struct expansion *e, const struct marker *m, sbr_error *err)
{
    const struct template_input *in = e->in;
    size_t n = e->out->len > e->start ? indent_length(e) : 0;
    char blanks[80];

    if (e->code_seen)
        return err_set(err, SBR_E_INVALID, "template",
                       "%s:%u: {{code}} a second time; the first is in line %u", in->name, m->line,
                       e->code_seen);
    if (n > sizeof(blanks))
        return err_set(err, SBR_E_INVALID, "template",
                       "%s:%u: more than %zu blanks before {{code}}", in->name, m->line,
                       sizeof(blanks));
    e->code_seen = m->line;
    e->place.code_line = 1;
    if (e->out->len > e->start)
        e->place.code_line += count_lines(e->out->data + e->start, e->out->len - e->start);
    e->place.code_lines = count_lines(in->code, in->code_len);
    if (in->code_len && in->code[in->code_len - 1] != '\n')
        e->place.code_lines++;
    if (n)
        memcpy(blanks, e->out->data + e->out->len - n, n); /* the buffer moves when it grows */
    put_indented(e, blanks, n);
    return 0;
}

static const char *nearest_value(const struct template_input *in, const char *name)
{
    const char *names[TEMPLATE_MAX_VALUES];

    for (size_t i = 0; i < in->n_values; i++)
        names[i] = in->values[i].name;
    return text_nearest(name, names, in->n_values);
}

static int refuse_unset(const struct expansion *e, const struct marker *m, sbr_error *err)
{
    const char *near = nearest_value(e->in, m->name);

    if (near)
        return err_set(err, SBR_E_INVALID, "template",
                       "%s:%u: '%s' is not set, but '%s' is: did you mean '%s'?", e->in->name,
                       m->line, m->name, near, m->name);
    return err_set(err, SBR_E_INVALID, "template", "%s:%u: '%s' is not set: add %s %s=VALUE",
                   e->in->name, m->line, m->name, e->in->value_word, m->name);
}

static int put_literal(struct expansion *e, const struct marker *m, const struct template_value *v,
                       sbr_error *err)
{
    enum literal_fault fault;

    if (!e->style)
        return err_set(err, SBR_E_UNSUPPORTED, "template",
                       "%s:%u: no way is known to write a text in this language: use {{%s:raw}}",
                       e->in->name, m->line, m->name);
    fault = template_literal_check(e->style, v->data, v->len);
    if (fault != LITERAL_OK)
        return err_set(err, SBR_E_INVALID, "template",
                       "%s:%u: the value of '%s' %s, which no text of this language can hold",
                       e->in->name, m->line, m->name,
                       fault == LITERAL_NUL ? "has a NUL byte" : "is not UTF-8");
    template_literal_put(e->out, e->style, v->data, v->len);
    return 0;
}

static int put_marker(struct expansion *e, const struct marker *m, sbr_error *err)
{
    const struct template_input *in = e->in;

    if (strcmp(m->name, CODE) == 0)
        return put_code(e, m, err);
    for (size_t i = 0; i < in->n_values; i++) {
        if (strcmp(in->values[i].name, m->name) != 0)
            continue;
        e->used[i] = true;
        if (!m->raw)
            return put_literal(e, m, &in->values[i], err);
        buf_add(e->out, in->values[i].data, in->values[i].len);
        return 0;
    }
    return refuse_unset(e, m, err);
}

static int check_values(const struct template_input *in, sbr_error *err)
{
    if (in->n_values > TEMPLATE_MAX_VALUES)
        return err_set(err, SBR_E_INVALID, "template", "more than %d values are set",
                       TEMPLATE_MAX_VALUES);
    for (size_t i = 0; i < in->n_values; i++) {
        const char *name = in->values[i].name;

        if (strcmp(name, CODE) == 0)
            return err_set(err, SBR_E_INVALID, "template",
                           "'code' cannot be set: it is the program itself");
        if (!template_name_is_valid(name))
            return err_set(err, SBR_E_INVALID, "template",
                           "'%.80s' cannot be set: a name has letters, digits, _ and -", name);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(in->values[j].name, name) == 0)
                return err_set(err, SBR_E_INVALID, "template", "'%s' is set twice", name);
        }
    }
    return 0;
}

static int check_complete(const struct expansion *e, sbr_error *err)
{
    const struct template_input *in = e->in;

    if (!e->code_seen)
        return err_set(err, SBR_E_INVALID, "template",
                       "%s: has no {{code}}, so the program has no place in it", in->name);
    for (size_t i = 0; i < in->n_values; i++) {
        if (!e->used[i])
            return err_set(err, SBR_E_INVALID, "template", "'%s' is set, but %s has no {{%s}}",
                           in->values[i].name, in->name, in->values[i].name);
    }
    if (e->out->failed)
        return err_set(err, SBR_E_INVALID, "template", "%s: the program is larger than %zu bytes",
                       in->name, e->out->max);
    return 0;
}

static int expand(struct expansion *e, sbr_error *err)
{
    const char *at = e->in->text, *end = at + e->in->len;
    struct marker m;
    int r;

    while (at < end) {
        const char *open = memmem(at, (size_t)(end - at), "{{", 2);

        buf_add(e->out, at, (size_t)((open ? open : end) - at));
        if (!open)
            break;
        if (end - open >= 4 && memcmp(open, "{{{{", 4) == 0) {
            buf_add_text(e->out, "{{");
            at = open + 4;
            continue;
        }
        r = marker_parse(e, open + 2, (size_t)(end - open) - 2, &m, err);
        if (r == 0)
            r = put_marker(e, &m, err);
        if (r < 0)
            return r;
        at = open + m.len;
    }
    return check_complete(e, err);
}

int template_expand(const struct template_input *in, struct buf *out, struct template_place *ret,
                    sbr_error *err)
{
    struct expansion e = { .in = in, .out = out, .start = out->len };
    int r = check_values(in, err);

    if (r == 0) {
        e.style = in->literal ? template_literal_style_find(in->literal) : NULL;
        r = expand(&e, err);
    }
    if (r < 0) {
        out->len = e.start;
        if (out->data)
            out->data[out->len] = '\0';
        return r;
    }
    *ret = e.place;
    return 0;
}

const char *template_find(const char *language, const char *name)
{
    for (const struct template *t = template_table; t->language; t++) {
        if (strcmp(t->language, language) == 0 && strcmp(t->name, name) == 0)
            return t->text;
    }
    return NULL;
}
