#include "explain/denial_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define MOST 40 /* bits are enough for more */

static const char *const of_python[] = {
    "subprocess", "socket", "ssl",     "ctypes",   "cffi",       "multiprocessing", "pty",
    "signal",     "mmap",   "fcntl",   "resource", "importlib",  "runpy",           "pickle",
    "marshal",    "shelve", "urllib",  "http",     "ftplib",     "smtplib",         "telnetlib",
    "requests",   "httpx",  "aiohttp", "paramiko", "webbrowser",
};
static const char *const of_javascript[] = {
    "child_process", "net",   "tls",        "dgram",   "dns",      "http",    "https",
    "http2",         "vm",    "inspector",  "cluster", "v8",       "process", "worker_threads",
    "module",        "axios", "node-fetch", "ws",      "ffi-napi",
};

static const struct form {
    const char *literal;
    const char *const *modules;
    size_t n;
    /* Words in front of a module's name in quotes; NULL ends them. */
    const char *quoted[5];
} forms[] = {
    { "python", of_python, ARRAY_LEN(of_python), { "__import__(", "import_module(", NULL } },
    { "json",
      of_javascript,
      ARRAY_LEN(of_javascript),
      { "require(", "import(", "from ", "import ", NULL } },
};

struct scan {
    const struct form *form;
    const char *at, *end;
    uint64_t found;
};

static const struct form *form_of(const char *literal)
{
    for (size_t i = 0; literal && i < ARRAY_LEN(forms); i++)
        if (!strcmp(forms[i].literal, literal))
            return &forms[i];
    return NULL;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* A module by the first part of its name: `urllib` of urllib.request, `dns` of node:dns/x. */
static void note(struct scan *s, const char *name)
{
    size_t n = 0;

    if (s->end - name > 5 && !memcmp(name, "node:", 5))
        name += 5;
    while (name + n < s->end && is_name(name[n]))
        n++;
    for (size_t i = 0; i < s->form->n; i++)
        if (strlen(s->form->modules[i]) == n && !memcmp(s->form->modules[i], name, n))
            s->found |= 1ULL << i;
}

static bool begins(const struct scan *s, const char *at, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(s->end - at) > n && !memcmp(at, word, n);
}

static const char *skip_blanks(const struct scan *s, const char *at)
{
    while (at < s->end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* `import a, b.c as d` and `from a import b`, at the start of a line. */
static void read_statement(struct scan *s, const char *at, const char *stop)
{
    if (begins(s, at, "from ")) {
        note(s, skip_blanks(s, at + 5));
        return;
    }
    if (!begins(s, at, "import "))
        return;
    for (at += 7; at < stop; at++) {
        at = skip_blanks(s, at);
        note(s, at);
        at = memchr(at, ',', (size_t)(stop - at));
        if (!at)
            return;
    }
}

/* A name in quotes behind one of the words, anywhere in a line. */
static void read_quoted(struct scan *s, const char *at, const char *stop)
{
    for (; at < stop; at++) {
        for (size_t i = 0; s->form->quoted[i]; i++) {
            const char *quote;

            if (!begins(s, at, s->form->quoted[i]))
                continue;
            quote = skip_blanks(s, at + strlen(s->form->quoted[i]));
            if (quote < stop && strchr("'\"`", *quote))
                note(s, quote + 1);
        }
    }
}

uint64_t sensitive_find(const char *literal, const char *text, size_t len)
{
    struct scan s = { .form = form_of(literal), .end = text + len };
    bool statements = s.form && !strcmp(s.form->literal, "python");

    if (!s.form)
        return 0;
    if (len > SENSITIVE_LOOK_MAX)
        s.end = text + SENSITIVE_LOOK_MAX;
    for (const char *line = text; line < s.end;) {
        const char *stop = memchr(line, '\n', (size_t)(s.end - line)), *at;

        stop = stop ? stop : s.end;
        at = skip_blanks(&s, line);
        if (statements)
            read_statement(&s, at, stop);
        if (at < stop && *at != '#' && !begins(&s, at, "//"))
            read_quoted(&s, at, stop);
        line = stop + 1;
    }
    return s.found;
}

int sensitive_name(const char *literal, uint64_t found, struct string_list *ret, sbr_error *err)
{
    const struct form *form = form_of(literal);

    _Static_assert(ARRAY_LEN(of_python) < MOST && ARRAY_LEN(of_javascript) < MOST, "a bit each");
    for (size_t i = 0; form && i < form->n; i++)
        if (found >> i & 1 && string_list_add(ret, form->modules[i], err) < 0)
            return err->code;
    return 0;
}
