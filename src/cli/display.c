#include "cli/display.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/scope.h"
#include "cli/amounts.h"
#include "cli/cli.h"
#include "cli/present.h"

#define RED "\033[31m"
#define PLAIN "\033[0m"
#define TEXT_MAX ((size_t)64 << 20)

/* Kinds of pictures, and the names that their files get. */
static const struct {
    const char *kind, *extension;
    bool text;
} pictures[] = {
    { "image/png", "png", false },
    { "image/jpeg", "jpg", false },
    { "image/svg+xml", "svg", true },
};

void display_init(struct display *d, const struct options *o)
{
    *d = (struct display){ .o = o, .terminal = isatty(STDOUT_FILENO) };
}

void display_text(struct display *d, int fd, const char *text, size_t len)
{
    FILE *out = fd == STDERR_FILENO ? stderr : stdout;
    struct buf clean;

    if (!isatty(fd) || d->o->raw) {
        fwrite(text, 1, len, out);
        fflush(out);
        return;
    }
    buf_init(&clean, TEXT_MAX);
    terminal_clean(&d->filters[fd == STDERR_FILENO], text, len, &clean);
    fwrite(clean.data, 1, clean.len, out);
    fflush(out);
    buf_done(&clean);
}

static void show_stream(struct display *d, const json_t *event, int fd)
{
    const json_t *data = json_object_get(event, "data");
    const char *base64 = json_string_value(json_object_get(event, "data_b64"));
    bool red = fd == STDERR_FILENO && present_uses_color(fd, d->o);
    scoped_free char *bytes = NULL;
    size_t len = json_string_length(data);

    if (base64 && encoding_from_base64(base64, &bytes, &len) < 0)
        return;
    if (!bytes && !json_is_string(data))
        return;
    fputs(red ? RED : "", stderr);
    display_text(d, fd, bytes ? bytes : json_string_value(data), len);
    fputs(red ? PLAIN : "", stderr);
}

void display_event(void *context, const char *line, size_t len)
{
    json_t *event = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
    const char *type = json_string_value(json_object_get(event, "type"));

    if (type && !strcmp(type, "stdout"))
        show_stream(context, event, STDOUT_FILENO);
    else if (type && !strcmp(type, "stderr"))
        show_stream(context, event, STDERR_FILENO);
    json_decref(event);
}

/* Writes a picture to a file of its own and says where. */
static void save_picture(struct display *d, const json_t *part, size_t kind, json_int_t cell,
                         size_t n)
{
    const char *text = json_string_value(part), *folder = getenv("TMPDIR");
    scoped_free char *bytes = NULL;
    scoped_fd int fd = -1;
    size_t len = json_string_length(part);
    char path[128], size[16];

    if (!text || (!pictures[kind].text && encoding_from_base64(text, &bytes, &len) < 0))
        return;
    if (!d->images[0]) {
        snprintf(d->images, sizeof(d->images), "%.30s/sandbox-run-repl.XXXXXX",
                 folder && strlen(folder) <= 30 ? folder : "/tmp");
        if (!mkdtemp(d->images)) {
            d->images[0] = '\0';
            return;
        }
    }
    snprintf(path, sizeof(path), "%s/cell-%lld-%zu.%s", d->images, (long long)cell, n + 1,
             pictures[kind].extension);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, bytes ? bytes : text, len) < 0)
        return;
    amount_of_bytes(len, size, sizeof(size));
    printf("[%s, %s: %s]\n", pictures[kind].kind, size, path);
}

static void show_bundle(struct display *d, const json_t *bundle, json_int_t cell, size_t n)
{
    const json_t *text = json_object_get(bundle, "text/plain");
    const char *plain = json_string_value(text);
    size_t len = json_string_length(text);

    if (plain) {
        display_text(d, STDOUT_FILENO, plain, len);
        fputs(len && plain[len - 1] == '\n' ? "" : "\n", stdout);
    }
    for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++)
        if (json_object_get(bundle, pictures[i].kind))
            save_picture(d, json_object_get(bundle, pictures[i].kind), i, cell, n);
}

void display_result(struct display *d, const json_t *result)
{
    const char *why = json_string_value(json_object_get(result, "explanation"));
    const char *outcome = json_string_value(json_object_get(result, "outcome"));
    json_int_t cell = json_integer_value(json_object_get(result, "cell"));
    const json_t *bundle;
    size_t i;

    fflush(stderr);
    if (d->terminal && d->filters[0].mid_line)
        fputc('\n', stdout);
    d->filters[0] = d->filters[1] = (struct terminal_filter){ 0 };
    json_array_foreach(json_object_get(result, "display"), i, bundle)
        show_bundle(d, bundle, cell, i);
    fflush(stdout);
    if (why && why[0] && outcome && strcmp(outcome, "exited") != 0 && !d->o->quiet)
        fprintf(stderr, "sandbox-run: %s\n", why);
}

int display_status(const json_t *result)
{
    const char *outcome = json_string_value(json_object_get(result, "outcome"));

    if (!outcome || !strcmp(outcome, "exited"))
        return (int)json_integer_value(json_object_get(result, "exit_code"));
    if (!strcmp(outcome, "timeout") || !strcmp(outcome, "cpu_limit"))
        return EXIT_TIMEOUT;
    if (!strcmp(outcome, "denied"))
        return EXIT_DENIED;
    return EXIT_SIGNAL + (strcmp(outcome, "cancelled") ? SIGKILL : SIGINT);
}
