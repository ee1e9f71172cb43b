#include "plan/language.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A borrowed piece of a line. */
struct word {
    const char *at;
    size_t len;
};

#define MAX_ADDED 128

/* Languages of the user, in the order of their addition. */
static const struct language *added[MAX_ADDED];
static size_t n_added;

static bool list_has(const struct words *list, struct word w)
{
    for (unsigned int i = 0; i < list->n; i++) {
        if (strlen(list->at[i]) == w.len && memcmp(list->at[i], w.at, w.len) == 0)
            return true;
    }
    return false;
}

int language_add(const struct language *language)
{
    if (n_added == MAX_ADDED)
        return -1;
    added[n_added++] = language;
    return 0;
}

const struct language *language_added_at(size_t index)
{
    return index < n_added ? added[index] : NULL;
}

/* True when a later file, or for a built-in language any file of the user, has the same name. */
static bool is_hidden(const struct language *language, size_t from)
{
    for (size_t i = from; i < n_added; i++)
        if (added[i] != language && strcmp(added[i]->name, language->name) == 0)
            return true;
    return false;
}

const struct language *language_at(size_t index)
{
    for (size_t i = 0; i < n_added; i++)
        if (!is_hidden(added[i], i) && index-- == 0)
            return added[i];
    for (const struct language *const *l = language_table; *l; l++)
        if (!is_hidden(*l, 0) && index-- == 0)
            return *l;
    return NULL;
}

const char *language_version_of(const char *name)
{
    const char *at = strchr(name, '@');

    return at && at[1] ? at + 1 : NULL;
}

const struct language *language_find(const char *name_or_alias)
{
    struct word w = { name_or_alias, strcspn(name_or_alias, "@") };
    const struct language *l;

    for (size_t i = 0; (l = language_at(i)); i++) {
        if ((strlen(l->name) == w.len && memcmp(l->name, w.at, w.len) == 0) ||
            list_has(&l->aliases, w))
            return l;
    }
    return NULL;
}

bool language_is_listed(const char *list, const char *name)
{
    const struct language *wanted = language_find(name);

    for (size_t len; *list; list += len + (list[len] == ',')) {
        char word[64];

        len = strcspn(list, ",");
        snprintf(word, sizeof(word), "%.*s", (int)len, list);
        if (wanted ? language_find(word) == wanted : !strcmp(word, name))
            return true;
    }
    return false;
}

int language_resolve(const char *name, const struct language **ret, sbr_error *err)
{
    const struct language *found = language_find(name);
    const char *names[256], *near;
    const struct language *l;
    size_t n = 0;

    if (found) {
        *ret = found;
        return 0;
    }
    for (size_t i = 0; (l = language_at(i)); i++) {
        if (n < ARRAY_LEN(names))
            names[n++] = l->name;
        for (unsigned int k = 0; k < l->aliases.n && n < ARRAY_LEN(names); k++)
            names[n++] = l->aliases.at[k];
    }
    near = text_nearest(name, names, n);
    return err_set(err, SBR_E_NOT_FOUND, "language",
                   "there is no language '%.60s'; %s%s%s`sandbox-run languages` lists them", name,
                   near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

const struct language *language_for_extension(const char *file_name)
{
    const char *slash = strrchr(file_name, '/');
    const char *base = slash ? slash + 1 : file_name;
    const char *dot = strrchr(base, '.');
    const struct language *l;

    if (!dot || dot == base) /* ".py" alone is a hidden file without an extension */
        return NULL;
    for (size_t i = 0; (l = language_at(i)); i++) {
        if (list_has(&l->extensions, (struct word){ dot, strlen(dot) }))
            return l;
    }
    return NULL;
}

/* ".11", ".4.6": a version that may follow a name that ends in a digit.  The digit is part of the
 * name because python2 is not python3, so languages list the major versions that they accept. */
static bool is_minor_version(struct word w)
{
    bool was_digit = false;

    if (w.len < 2 || w.at[0] != '.')
        return false;
    for (size_t i = 0; i < w.len; i++) {
        bool is_digit = isdigit((unsigned char)w.at[i]);

        if (!is_digit && (w.at[i] != '.' || (i > 0 && !was_digit)))
            return false;
        was_digit = is_digit;
    }
    return was_digit;
}

static bool interpreter_matches(const char *name, struct word w)
{
    size_t len = strlen(name);

    if (len == 0 || w.len < len || memcmp(name, w.at, len) != 0)
        return false;
    return w.len == len || (isdigit((unsigned char)name[len - 1]) &&
                            is_minor_version((struct word){ w.at + len, w.len - len }));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct word word_next(struct word *line)
{
    struct word word;

    while (line->len > 0 && is_blank(*line->at)) {
        line->at++;
        line->len--;
    }
    word = (struct word){ line->at, 0 };
    while (word.len < line->len && !is_blank(word.at[word.len]))
        word.len++;
    line->at += word.len;
    line->len -= word.len;
    return word;
}

static struct word word_base(struct word w)
{
    size_t start = w.len;

    while (start > 0 && w.at[start - 1] != '/')
        start--;
    return (struct word){ w.at + start, w.len - start };
}

static bool word_is(struct word w, const char *text)
{
    return w.len == strlen(text) && memcmp(w.at, text, w.len) == 0;
}

/* The command that env would start: the first word that is neither an option nor a setting. */
static struct word env_command(struct word *line)
{
    struct word w = word_next(line);

    for (; w.len > 0; w = word_next(line)) {
        if (w.len > 2 && memcmp(w.at, "-S", 2) == 0) /* -Spython3 */
            return (struct word){ w.at + 2, w.len - 2 };
        if (word_is(w, "-u") || word_is(w, "-C"))
            word_next(line); /* these two take the next word */
        else if (w.at[0] != '-' && !memchr(w.at, '=', w.len))
            return w;
    }
    return w;
}

const struct language *language_for_shebang(const char *line, size_t len)
{
    struct word rest = { line, len }, interpreter;
    const struct language *l;
    const char *newline = len > 0 ? memchr(line, '\n', len) : NULL;

    if (newline)
        rest.len = (size_t)(newline - line);
    if (rest.len < 2 || memcmp(rest.at, "#!", 2) != 0)
        return NULL;
    rest = (struct word){ rest.at + 2, rest.len - 2 };
    interpreter = word_base(word_next(&rest));
    if (word_is(interpreter, "env"))
        interpreter = word_base(env_command(&rest));
    for (size_t i = 0; (l = language_at(i)); i++) {
        for (unsigned int j = 0; j < l->shebangs.n; j++) {
            if (interpreter_matches(l->shebangs.at[j], interpreter))
                return l;
        }
    }
    return NULL;
}
