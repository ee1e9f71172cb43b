/* The user's sources: the lines around an error, and words that are nearly right. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "explain/diagnose_internal.h"

#define SOURCE_MAX (16 * MIB) /* lines beyond are not found */
#define CONTEXT_LINE_MAX 200
#define NEAREST_MAX_SOURCE (128 * KIB) /* of all sources together */
#define NEAREST_MAX_WORDS 8192
#define NEAREST_MAX_WORD 40
#define MARKER_DISTANCE 8 /* lines between an error and a marked copy of its source */

struct source diagnose_source_line(struct source source, unsigned int number)
{
    const char *at = source.text, *newline;
    size_t left = at ? source.len : 0;

    /* Also returns the empty line after the last: some tools report an early end of file there. */
    if (!at)
        return (struct source){ 0 };
    while (number > 0) {
        newline = left > 0 ? memchr(at, '\n', left) : NULL;
        if (--number == 0) {
            size_t len = newline ? (size_t)(newline - at) : left;

            return (struct source){ at, len > 0 && at[len - 1] == '\r' ? len - 1 : len };
        }
        if (!newline)
            break;
        left -= (size_t)(newline + 1 - at);
        at = newline + 1;
    }
    return (struct source){ 0 };
}

/* The request holds the program with its harness; the user wrote only some lines of it. */
static struct source without_harness(const struct diagnose_input *in, struct source source)
{
    struct source first = diagnose_source_line(source, in->code_line);
    struct source last = diagnose_source_line(source, in->code_line + in->code_lines - 1);

    if (in->code_lines == 0 || !first.text || !last.text)
        return (struct source){ 0 };
    return (struct source){ first.text, (size_t)(last.text + last.len - first.text) };
}

struct source diagnose_source_find(const struct diagnose_input *in, const char *file)
{
    const sbr_request *req = in->request;
    bool is_main = file && in->main_file && strcmp(in->main_file, file) == 0;
    struct source found = { 0 };

    if (!req || !file)
        return found;
    if (req->code && is_main)
        found = (struct source){ req->code, req->code_len };
    for (size_t i = 0; i < req->n_files && !found.text; i++)
        if (strcmp(req->files[i].path, file) == 0)
            found = (struct source){ req->files[i].data, req->files[i].len };
    if (found.len > SOURCE_MAX)
        found.len = SOURCE_MAX;
    return found.text && is_main && in->code_line ? without_harness(in, found) : found;
}

char *diagnose_source_context(const struct diagnose_input *in, const char *file, unsigned int line)
{
    struct source source = diagnose_source_find(in, file);
    struct buf out;
    char *context;

    if (line == 0 || !diagnose_source_line(source, line).text)
        return NULL;
    buf_init(&out, 4 * CONTEXT_LINE_MAX);
    for (unsigned int i = line > 1 ? line - 1 : line; i <= line + 1; i++) {
        struct source shown = diagnose_source_line(source, i);

        if (!shown.text || (i > line && shown.text == source.text + source.len))
            break;
        if (shown.len > CONTEXT_LINE_MAX)
            for (shown.len = CONTEXT_LINE_MAX; shown.len > 0; shown.len--)
                if (((unsigned char)shown.text[shown.len] & 0xc0) != 0x80)
                    break;
        buf_printf(&out, "%s%c%4u | ", out.len ? "\n" : "", i == line ? '>' : ' ', i);
        for (size_t c = 0; c < shown.len; c++)
            buf_add(&out, shown.text[c] ? &shown.text[c] : "?", 1);
    }
    context = buf_take(&out, NULL);
    if (context)
        diagnose_wording_clean(context, out.max);
    return context;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

struct candidates {
    const char *word;
    char *text;
    size_t used;
    const char **at;
    size_t n;
};

/* In a short word two edits lead to any other word: there only one counts. */
static bool is_like(const char *word, const char *candidate, size_t len)
{
    size_t head = 0, tail = 0, word_len = strlen(word);
    size_t longer = word_len > len ? word_len : len, shorter = word_len < len ? word_len : len;

    if (longer - shorter > 2 || (word_len == len && memcmp(word, candidate, len) == 0))
        return false;
    while (head < shorter && word[head] == candidate[head])
        head++;
    while (tail < shorter - head && word[word_len - 1 - tail] == candidate[len - 1 - tail])
        tail++;
    return word_len > 4 ? head + tail >= word_len / 2 : head + tail + 1 >= longer;
}

static void candidates_add(struct candidates *c, const char *from, size_t len)
{
    while (len > 0 && c->n < NEAREST_MAX_WORDS) {
        size_t word = 0;

        while (word < len && is_word_byte(from[word]))
            word++;
        if (word > 1 && word <= NEAREST_MAX_WORD && !isdigit((unsigned char)from[0]) &&
            is_like(c->word, from, word) && NEAREST_MAX_SOURCE - c->used > word) {
            c->at[c->n++] = memcpy(c->text + c->used, from, word);
            c->text[c->used + word] = '\0';
            c->used += word + 1;
        }
        word += word < len ? 1 : 0;
        from += word;
        len -= word;
    }
}

static void candidates_add_request(struct candidates *c, const struct diagnose_input *in)
{
    struct source source = diagnose_source_find(in, in->main_file);
    size_t left = NEAREST_MAX_SOURCE;

    for (size_t i = 0;; i++) {
        size_t len = source.len < left ? source.len : left;

        candidates_add(c, source.text, len);
        left -= len;
        if (i == in->request->n_files || left == 0)
            break;
        source = (struct source){ in->request->files[i].data, in->request->files[i].len };
        if (in->main_file && strcmp(in->request->files[i].path, in->main_file) == 0)
            source.len = 0; /* was the first */
    }
}

char *diagnose_source_nearest(const struct diagnose_input *in, const char *words)
{
    size_t len = strcspn(words, "|");
    scoped_free char *word = strndup(words, len);
    scoped_free char *text = malloc(NEAREST_MAX_SOURCE);
    scoped_free const char **at = calloc(NEAREST_MAX_WORDS, sizeof(*at));
    struct candidates c = { .word = word, .text = text, .at = at };
    const char *nearest;

    if (!word || !text || !at || len < 3 || len > NEAREST_MAX_WORD)
        return NULL;
    candidates_add(&c, words + len, strlen(words + len));
    if (in->request)
        candidates_add_request(&c, in);
    nearest = text_nearest(word, at, c.n);
    return nearest ? strdup(nearest) : NULL;
}

static size_t indent_of(const char *text, size_t len)
{
    size_t indent = 0;

    while (indent < len && (text[indent] == ' ' || text[indent] == '\t'))
        indent++;
    return indent;
}

/* Where "    ~~^~~" points behind a margin, counted from 0, or -1. */
static int marker_at(const char *line, size_t margin)
{
    size_t at;

    if (strlen(line) <= margin)
        return -1;
    at = margin + strspn(line + margin, " \t~-");
    return line[at] == '^' ? (int)(at - margin) : -1;
}

unsigned int diagnose_source_marked_column(const struct diagnose_state *s, const struct hit *hit,
                                           const struct diagnosis *d)
{
    struct source source = diagnose_source_line(diagnose_source_find(s->in, d->file), d->line);
    size_t indent = indent_of(source.text, source.len), len = source.len - indent;
    size_t from = hit->first > MARKER_DISTANCE ? hit->first - MARKER_DISTANCE : 0;

    if (!source.text || len == 0 || source.len > CONTEXT_LINE_MAX)
        return 0;
    for (size_t i = from; i + 1 < s->lines.n && i <= hit->last + MARKER_DISTANCE; i++) {
        const char *line = s->lines.at[i];
        size_t shown = strlen(line), margin = shown >= len ? shown - len : 0;
        int caret;

        if (shown < len || memcmp(line + margin, source.text + indent, len) != 0)
            continue;
        caret = marker_at(s->lines.at[i + 1], margin);
        if (caret >= 0)
            return (unsigned int)((size_t)caret + indent + 1);
    }
    return 0;
}
