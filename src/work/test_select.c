#include "work/test_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* What of a case's name the runner takes. */
enum selected {
    SELECTED_WHOLE,
    SELECTED_LAST,   /* behind the last `::` */
    SELECTED_TOP,    /* behind `::`, up to a slash */
    SELECTED_SPACED, /* `::` and ` > ` become blanks */
    SELECTED_TITLES, /* the same behind the last `::` */
    SELECTED_NODE    /* pytest's FILE::CLASS::NAME */
};

static const struct selector {
    const char *runner;
    const char *const *words; /* the command; NULL: the runner's own */
    enum selected selected;
    const char *before; /* a word before the names, or NULL */
    /* One regular expression that has all of them: how it begins and ends; NULL: a word each. */
    const char *regex_begin, *regex_end;
} selectors[] = {
    { "pytest", NULL, SELECTED_NODE, NULL, NULL, NULL },
    { "unittest", WORDS("python3", "-m", "unittest", "-v"), SELECTED_WHOLE, NULL, NULL, NULL },
    { "cargo", WORDS("cargo", "test", "--no-fail-fast", "--", "--exact"), SELECTED_WHOLE, NULL,
      NULL, NULL },
    { "go", NULL, SELECTED_TOP, "-run", "^(", ")$" },
    { "node", NULL, SELECTED_LAST, "--test-name-pattern", "^(", ")$" },
    { "jest", NULL, SELECTED_WHOLE, "-t", "^(", ")$" },
    { "vitest", NULL, SELECTED_TITLES, "-t", "^(", ")$" },
    { "mocha", NULL, SELECTED_SPACED, "--grep", "^(", ")$" },
    { "bats", NULL, SELECTED_WHOLE, "--filter", "^(", ")$" },
};

static const struct selector *find_selector(const char *runner)
{
    for (size_t i = 0; i < sizeof(selectors) / sizeof(*selectors); i++)
        if (!strcmp(selectors[i].runner, runner))
            return &selectors[i];
    return NULL;
}

static void add_spaced(struct buf *out, const char *name)
{
    static const char *const joints[] = { "::", " > " };

    while (*name) {
        size_t skipped = 0;

        for (size_t i = 0; i < 2; i++)
            if (!strncmp(name, joints[i], strlen(joints[i])))
                skipped = strlen(joints[i]);
        buf_add(out, skipped ? " " : name, 1);
        name += skipped ? skipped : 1;
    }
}

/* `tests.test_a.TestX::test_y` of tests/test_a.py is `tests/test_a.py::TestX::test_y`. */
static void add_node(struct buf *out, const struct report_case *c)
{
    const char *at = strstr(c->name, "::"), *file = c->file ? c->file : "";
    size_t module = strlen(file) > 3 ? strlen(file) - 3 : 0;
    const char *class = c->name;

    buf_add_text(out, file);
    if (at && module && (size_t)(at - c->name) > module)
        class += module + 1;
    else
        class = at;
    while (class && class < at) {
        size_t len = strcspn(class, ".:");

        buf_add_text(out, "::");
        buf_add(out, class, len);
        class += len + (class[len] == '.');
    }
    buf_add_text(out, at ? at : "");
}

static void add_name(struct buf *out, const struct report_case *c, enum selected selected)
{
    const char *last = c->name, *next;

    while ((next = strstr(last, "::")))
        last = next + 2;
    switch (selected) {
    case SELECTED_WHOLE:
        buf_add_text(out, c->name);
        break;
    case SELECTED_LAST:
        buf_add_text(out, last);
        break;
    case SELECTED_TOP:
        buf_add(out, last, strcspn(last, "/"));
        break;
    case SELECTED_SPACED:
        add_spaced(out, c->name);
        break;
    case SELECTED_TITLES:
        add_spaced(out, last);
        break;
    case SELECTED_NODE:
        add_node(out, c);
        break;
    }
}

static void add_escaped(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\^$.|?*+()[]{}/", *text))
            buf_add_text(out, "\\");
        buf_add(out, text, 1);
    }
}

static int add_names(const struct selector *s, const struct report *cases, struct string_list *ret,
                     sbr_error *err)
{
    struct buf regex, name;
    size_t n = 0;
    int r = 0;

    buf_init(&regex, 100000); /* a word of a command has at most 128 KiB */
    buf_init(&name, 4 * REPORT_MOST_TEXT);
    for (size_t i = 0; r == 0 && i < cases->n; i++) {
        if (cases->cases[i].outcome != CASE_FAILED && cases->cases[i].outcome != CASE_BROKEN)
            continue;
        name.len = 0;
        add_name(&name, &cases->cases[i], s->selected);
        if (!s->regex_begin) {
            r = string_list_add(ret, name.data ? name.data : "", err);
            continue;
        }
        buf_add_text(&regex, n++ ? "|" : s->regex_begin);
        add_escaped(&regex, name.data ? name.data : "");
    }
    if (r == 0 && n) {
        buf_add_text(&regex, s->regex_end);
        r = regex.failed || name.failed ? err_set(err, SBR_E_INVALID, "test",
                                                  "too many cases failed to name them all; run "
                                                  "them without --failed")
                                        : string_list_add(ret, regex.data, err);
    }
    buf_done(&regex);
    buf_done(&name);
    return r;
}

int test_select_failed(const struct test_runner *runner, const struct report *cases,
                       struct string_list *ret, sbr_error *err)
{
    const struct selector *s = find_selector(runner->name);

    if (!s)
        return err_set(err, SBR_E_UNSUPPORTED, "test", "%s cannot run single cases", runner->name);
    for (const char *const *word = s->words ? s->words : runner->words; *word; word++)
        if (string_list_add(ret, *word, err) < 0)
            return err->code;
    if (s->before && string_list_add(ret, s->before, err) < 0)
        return err->code;
    return add_names(s, cases, ret, err);
}

static const struct test_coverage coverages[] = {
    { "pytest", WORDS("--cov=.", "--cov-report=term"), "pytest-cov", "TOTAL ", false },
    { "node",
      WORDS("--experimental-test-coverage", "--test-reporter=tap",
            "--test-reporter-destination=stdout"),
      NULL, "# all files ", true },
    { "go", WORDS("-cover"), NULL, "coverage: ", false },
};

const struct test_coverage *test_select_coverage(const struct test_runner *runner)
{
    for (size_t i = 0; i < sizeof(coverages) / sizeof(*coverages); i++)
        if (!strcmp(coverages[i].runner, runner->name))
            return &coverages[i];
    return NULL;
}

int test_select_add_coverage(const struct test_runner *runner, sbr_request *req,
                             struct string_list *words, const struct test_coverage **ret,
                             sbr_error *err)
{
    *ret = test_select_coverage(runner);
    if (!*ret)
        return err_set(err, SBR_E_UNSUPPORTED, "test",
                       "%s does not say how much of the code ran; pytest, node and go do",
                       runner->name);
    for (const char *const *word = (*ret)->words; *word; word++)
        if (string_list_add(words, *word, err) < 0)
            return err->code;
    return (*ret)->package ? request_add_dep(req, (*ret)->package, err) : 0;
}

/* "12.5" or "80%": the last number with a per cent sign, or the first one of the line. */
static bool read_percent(const char *line, size_t len, uint64_t *ret)
{
    const char *percent = memchr(line, '%', len), *at = line;
    unsigned int whole = 0, part = 0;
    char digits[16] = "", fraction[4] = "000";

    if (percent)
        for (at = percent; at > line && strchr("0123456789.", at[-1]);)
            at--;
    while (at < line + len && (*at < '0' || *at > '9'))
        at++;
    snprintf(digits, sizeof(digits), "%.*s", (int)(line + len - at), at);
    if (sscanf(digits, "%3u", &whole) != 1) /* NOLINT(cert-err34-c): three digits at most */
        return false;
    at = strchr(digits, '.');
    for (size_t i = 0; at && i < 3 && at[1 + i] >= '0' && at[1 + i] <= '9'; i++)
        fraction[i] = at[1 + i];
    part = (unsigned int)strtoul(fraction, NULL, 10);
    *ret = whole * 1000ULL + part;
    return whole <= 100;
}

/* A line of Node's counts as run when a part of it ran; its functions do not. */
static bool read_lowest(const char *line, size_t len, uint64_t *ret)
{
    const char *end = line + len, *bar = line;
    bool found = false;

    while ((bar = memchr(bar, '|', (size_t)(end - bar)))) {
        uint64_t one;

        bar++;
        if (!read_percent(bar, strcspn(bar, "|\n\\"), &one))
            continue;
        *ret = found && *ret < one ? *ret : one;
        found = true;
    }
    return found;
}

bool test_select_percent(const struct test_coverage *coverage, const char *text, size_t len,
                         uint64_t *ret)
{
    const char *at = text, *found = NULL, *end = text + len;

    while (at < end &&
           (at = memmem(at, (size_t)(end - at), coverage->line, strlen(coverage->line)))) {
        at += strlen(coverage->line);
        found = at;
    }
    if (!found)
        return false;
    return (coverage->lowest ? read_lowest : read_percent)(found, strcspn(found, "\n\\"), ret);
}
