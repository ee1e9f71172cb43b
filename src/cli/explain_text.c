
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/present.h"

#define TEXT_SHOWN 400
#define CALLS_SHOWN 12

struct page {
    bool color;
};

static const char *paint(const struct page *page, const char *code)
{
    return page->color ? code : "";
}

/* An untrusted program may have written the file: no text reaches the terminal as it is. */
static const char *shown(const json_t *value, char buf[TEXT_SHOWN])
{
    const char *text = json_string_value(value);

    text_copy_visibly(buf, TEXT_SHOWN, text ? text : "", text ? strlen(text) : 0);
    return buf;
}

static const char *shown_key(const json_t *object, const char *key, char buf[TEXT_SHOWN])
{
    return shown(json_object_get(object, key), buf);
}

static void print_title(const struct page *page, const char *title)
{
    printf("%s%s%s\n", paint(page, "\x1b[1m"), title, paint(page, "\x1b[0m"));
}

/* Prints `name` only in the first line of a block. */
static void print_line(const struct page *page, const char **name, const char *text)
{
    printf("  %s%-13s%s %s\n", paint(page, "\x1b[36m"), *name, paint(page, "\x1b[0m"), text);
    *name = "";
}

static void print_network(const struct page *page, const json_t *network)
{
    const char *name = "network";
    char line[3 * TEXT_SHOWN], a[TEXT_SHOWN], b[TEXT_SHOWN];
    size_t i;
    const json_t *host;

    if (!json_is_object(network))
        return;
    snprintf(line, sizeof(line), "%s: %s", shown_key(network, "mode", a),
             shown_key(network, "meaning", b));
    print_line(page, &name, line);
    json_array_foreach(json_object_get(network, "allow_hosts"), i, host) {
        snprintf(line, sizeof(line), "--allow-host %s", shown(host, a));
        print_line(page, &name, line);
    }
    if (json_is_true(json_object_get(network, "allow_dns")))
        print_line(page, &name, "--allow-dns: every name is looked up");
}

static void print_files(const struct page *page, const json_t *files)
{
    const char *name = "files";
    char line[3 * TEXT_SHOWN], path[TEXT_SHOWN], from[TEXT_SHOWN], access[TEXT_SHOWN];
    size_t i;
    const json_t *file;

    if (!json_is_array(files))
        return;
    json_array_foreach(files, i, file) {
        bool same;

        shown_key(file, "path", path);
        shown_key(file, "from", from);
        same = !from[0] || !strcmp(path, from);
        snprintf(line, sizeof(line), "%-24s %s%s%s", path,
                 strcmp(shown_key(file, "access", access), "write")
                     ? "can be read"
                     : "can be written, until the end",
                 same ? "" : "; it is the host's ", same ? "" : from);
        print_line(page, &name, line);
    }
    print_line(page, &name, "nothing else is there; --volume SRC:DST brings it in");
}

static void print_limits(const struct page *page, const json_t *limits)
{
    const char *name = "limits";
    char line[3 * TEXT_SHOWN + 8], a[TEXT_SHOWN], b[TEXT_SHOWN], c[TEXT_SHOWN];
    size_t i;
    const json_t *limit;

    json_array_foreach(limits, i, limit) {
        snprintf(line, sizeof(line), "%-18s %-8s %s", shown_key(limit, "option", a),
                 shown_key(limit, "value", b), shown_key(limit, "meaning", c));
        print_line(page, &name, line);
    }
}

static void print_group(const struct page *page, const char **name, const json_t *group)
{
    char line[2 * TEXT_SHOWN + 800], a[TEXT_SHOWN], b[TEXT_SHOWN];
    const json_t *calls = json_object_get(group, "calls");
    int used = snprintf(line, sizeof(line), "%s: %s:", shown_key(group, "file", a),
                        shown_key(group, "group", b));
    size_t i;
    const json_t *call;

    json_array_foreach(calls, i, call)
        if (i < CALLS_SHOWN)
            used += snprintf(line + used, sizeof(line) - (size_t)used, " %.40s", shown(call, a));
    if (json_array_size(calls) > CALLS_SHOWN)
        snprintf(line + used, sizeof(line) - (size_t)used, " and %zu more",
                 json_array_size(calls) - CALLS_SHOWN);
    print_line(page, name, line);
}

static void print_calls(const struct page *page, const json_t *calls)
{
    const char *name = "system calls";
    char line[3 * TEXT_SHOWN + 32], a[TEXT_SHOWN], b[TEXT_SHOWN], c[TEXT_SHOWN];
    size_t i;
    const json_t *group;

    if (!json_is_object(calls))
        return;
    snprintf(line, sizeof(line), "policy %s (%s): %s", shown_key(calls, "policy", a),
             shown_key(calls, "file", b), shown_key(calls, "about", c));
    print_line(page, &name, line);
    print_line(page, &name, "refused, some of them only with certain arguments:");
    json_array_foreach(json_object_get(calls, "refused"), i, group)
        print_group(page, &name, group);
    print_line(page, &name, "what the policy does not name: refused with ENOSYS");
}

static void print_list(const struct page *page, const char *name, const json_t *list,
                       const char *before)
{
    char line[TEXT_SHOWN + 40], a[TEXT_SHOWN];
    size_t i;
    const json_t *item;

    json_array_foreach(list, i, item) {
        snprintf(line, sizeof(line), "%s%s", before, shown(item, a));
        print_line(page, &name, line);
    }
}

static void print_isolation(const struct page *page, const json_t *isolation)
{
    const char *name = "isolation";
    char a[TEXT_SHOWN];

    if (!json_is_object(isolation))
        return;
    print_line(page, &name, shown_key(isolation, "tier", a));
    print_list(page, "", json_object_get(isolation, "missing"), "without ");
}

static void print_refusal(const struct page *page, const json_t *refusal)
{
    char a[TEXT_SHOWN], b[TEXT_SHOWN];
    json_int_t count = json_integer_value(json_object_get(refusal, "count"));

    printf("  %s%-8s %s%s", paint(page, "\x1b[33m"), shown_key(refusal, "kind", a),
           shown_key(refusal, "target", b), paint(page, "\x1b[0m"));
    if (count > 1)
        printf(" \xc3\x97%lld", (long long)count);
    if (shown_key(refusal, "stage", a)[0])
        printf(", in stage %s", a);
    printf("\n           by     %s\n", shown_key(refusal, "rule", a));
    if (shown_key(refusal, "source", a)[0])
        printf("           which  is %s\n", a);
    shown_key(refusal, "remedy", a);
    printf("           %s%s%s\n", paint(page, "\x1b[32m"),
           a[0] ? a : "nothing would allow it in a sandbox", paint(page, "\x1b[0m"));
}

static void print_refusals(const struct page *page, const json_t *refused)
{
    const json_t *refusal;
    size_t i;

    print_title(page, "What was refused");
    json_array_foreach(refused, i, refusal)
        print_refusal(page, refusal);
    if (json_array_size(refused) == 0)
        printf("  nothing that we know of; docs/result.md lists what cannot be seen\n");
    printf("\n");
}

/* "exited 3", "timeout: ..." */
static void print_end(const struct page *page, const json_t *explanation)
{
    const json_t *code = json_object_get(explanation, "exit_code");
    char a[TEXT_SHOWN];

    print_title(page, "How it ended");
    printf("  %s", shown_key(explanation, "outcome", a));
    if (json_is_integer(code))
        printf(" %lld", (long long)json_integer_value(code));
    if (shown_key(explanation, "explanation", a)[0])
        printf(": %s", a);
    printf("\n\n");
}

static void print_uses(const struct page *page, const json_t *uses)
{
    char a[TEXT_SHOWN];
    const json_t *item;
    size_t i;

    if (!json_array_size(uses))
        return;
    print_title(page, "What the program imports that deserves a look");
    printf("  uses ");
    json_array_foreach(uses, i, item)
        printf("%s%s", i ? ", " : "", shown(item, a));
    printf("\n\n");
}

void explain_print(const json_t *explanation, const struct options *o)
{
    const struct page page = { .color = present_uses_color(STDOUT_FILENO, o) };
    const json_t *allowed = json_object_get(explanation, "allowed");
    bool result = json_is_string(json_object_get(explanation, "outcome"));

    if (result) {
        print_end(&page, explanation);
        print_refusals(&page, json_object_get(explanation, "refused"));
        print_uses(&page, json_object_get(explanation, "uses"));
    }
    print_title(&page, result ? "What the program could use" : "What the program may use");
    print_network(&page, json_object_get(allowed, "network"));
    print_files(&page, json_object_get(allowed, "files"));
    print_list(&page, "left out", json_object_get(allowed, "excluded"), "");
    print_limits(&page, json_object_get(allowed, "limits"));
    print_calls(&page, json_object_get(allowed, "system_calls"));
    print_list(&page, "environment", json_object_get(allowed, "environment"), "");
    print_isolation(&page, json_object_get(allowed, "isolation"));
}
