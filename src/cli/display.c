#include "cli/display.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "base/user_dir.h"
#include "cli/amounts.h"
#include "cli/cli.h"
#include "cli/present.h"

#define RED "\033[31m"
#define PLAIN "\033[0m"
#define TEXT_MAX ((size_t)64 << 20)
#define VALUE_MAX ((size_t)64 << 10) /* of what gets colours */
#define HEAD_LINES 200               /* of a cell's stdout that a terminal shows at once */
#define HEAD_MAX ((size_t)1 << 20)
#define TAIL_LINES 20
#define TAIL_MAX 8192
#define FIT_LEAST 20 /* columns that values can be asked to fit into */
#define FIT_MOST 1000

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
    *d = (struct display){
        .o = o, .terminal = isatty(STDOUT_FILENO), .whole_fd = -1, .folder_fd = -1
    };
    buf_init(&d->head, HEAD_MAX);
}

void display_done(struct display *d)
{
    if (d->whole_fd >= 0)
        close(d->whole_fd);
    scope_close_fd(&d->folder_fd);
    buf_done(&d->head);
}

void display_forget(struct display *d)
{
    int fd = d->folder_fd < 0 ? -1 : openat(d->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(d->folder_fd, entry->d_name, 0);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    if (d->folder[0])
        (void)rmdir(d->folder);
}

/* A file of ours in a directory that only the user can read; -1: there is none. */
static int make_file(struct display *d, const char *name, char *path, size_t size)
{
    const char *temporary = user_dir_temporary();

    if (!d->folder[0]) {
        snprintf(d->folder, sizeof(d->folder), "%.30s/sandbox-run-repl.XXXXXX",
                 strlen(temporary) <= 30 ? temporary : "/tmp");
        if (mkdtemp(d->folder)) /* held: a cell may write to where it is */
            d->folder_fd = open(d->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (d->folder_fd < 0) {
            d->folder[0] = '\0';
            return -1;
        }
    }
    snprintf(path, size, "%s/%s", d->folder, name);
    return openat(d->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
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

/* From here on everything goes to the file; what was shown, too. */
static void begin_file(struct display *d)
{
    char name[64];

    snprintf(name, sizeof(name), "output-%zu.txt", ++d->n_files);
    d->whole_fd = make_file(d, name, d->whole, sizeof(d->whole));
    if (d->whole_fd >= 0 && fd_write_all(d->whole_fd, d->head.data, d->head.len) < 0) {
        close(d->whole_fd);
        d->whole_fd = -1;
    }
}

/* stdout of a cell: its first lines at once, the last ones when it has ended. */
static void show_output(struct display *d, const char *text, size_t len)
{
    size_t shown = 0;

    if (!d->terminal || d->o->raw) {
        display_text(d, STDOUT_FILENO, text, len);
        return;
    }
    while (shown < len && d->whole_fd < 0) {
        d->lines += text[shown++] == '\n';
        if (d->lines >= HEAD_LINES || d->head.len + shown >= HEAD_MAX)
            break;
    }
    if (d->whole_fd < 0 && shown) {
        display_text(d, STDOUT_FILENO, text, shown);
        buf_add(&d->head, text, shown);
    }
    if (shown == len)
        return;
    if (d->whole_fd < 0)
        begin_file(d);
    for (size_t i = shown; i < len; i++)
        d->lines += text[i] == '\n';
    if (d->whole_fd < 0 || fd_write_all(d->whole_fd, text + shown, len - shown) < 0)
        display_text(d, STDOUT_FILENO, text + shown, len - shown);
}

/* Where the last lines of a text begin. */
static size_t last_lines(const char *text, size_t len)
{
    size_t at = len, lines = 0;

    while (at > 0 && (text[at - 1] != '\n' || ++lines <= TAIL_LINES))
        at--;
    return at;
}

static void show_tail(struct display *d)
{
    off_t end = d->whole_fd < 0 ? 0 : lseek(d->whole_fd, 0, SEEK_END);
    off_t from = end - (off_t)d->head.len < TAIL_MAX ? (off_t)d->head.len : end - TAIL_MAX;
    char tail[TAIL_MAX];
    ssize_t n = d->whole_fd < 0 ? 0 : pread(d->whole_fd, tail, sizeof(tail), from);
    size_t at = n > 0 ? last_lines(tail, (size_t)n) : 0;

    if (d->whole_fd >= 0) {
        if (from + (off_t)at > (off_t)d->head.len)
            printf("[... of %zu lines some are left out; all of them: %s]\n", d->lines, d->whole);
        if (n > 0)
            display_text(d, STDOUT_FILENO, tail + at, (size_t)n - at);
        close(d->whole_fd);
        d->whole_fd = -1;
    }
    d->lines = d->head.len = 0;
    d->waits = false;
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
    if (fd == STDOUT_FILENO) {
        show_output(d, bytes ? bytes : json_string_value(data), len);
        return;
    }
    fputs(red ? RED : "", stderr);
    display_text(d, fd, bytes ? bytes : json_string_value(data), len);
    fputs(red ? PLAIN : "", stderr);
}

/* Once, to a person: scripts read stderr of the program there. */
static void show_wait(struct display *d, json_int_t before)
{
    if (d->waits || !isatty(STDERR_FILENO))
        return;
    d->waits = true;
    fprintf(stderr, "sandbox-run: waiting for the engine, %lld before this cell\n",
            (long long)before);
}

void display_event(void *context, const char *line, size_t len)
{
    json_t *event = json_read(line, len, &json_read_answer, JSON_ALLOW_NUL, "the event", NULL);
    const char *type = json_string_value(json_object_get(event, "type"));

    if (type && !strcmp(type, "stdout"))
        show_stream(context, event, STDOUT_FILENO);
    else if (type && !strcmp(type, "stderr"))
        show_stream(context, event, STDERR_FILENO);
    else if (type && !strcmp(type, "queue"))
        show_wait(context, json_integer_value(json_object_get(event, "before")));
    json_decref(event);
}

/* In the text, where the terminal can. */
static bool show_inline(const struct display *d, size_t kind, const char *bytes, size_t len)
{
    return d->terminal && bytes && !strcmp(pictures[kind].kind, "image/png") &&
           picture_show(picture_way(present_uses_color(STDOUT_FILENO, d->o)), bytes, len);
}

/* Shows a picture, or writes it to a file of its own and says where. */
static void save_picture(struct display *d, const json_t *part, size_t kind, json_int_t cell,
                         size_t n)
{
    const char *text = json_string_value(part);
    scoped_free char *bytes = NULL;
    scoped_fd int fd = -1;
    size_t len = json_string_length(part);
    char path[128], name[64], size[16];

    if (!text || (!pictures[kind].text && encoding_from_base64(text, &bytes, &len) < 0))
        return;
    if (show_inline(d, kind, bytes, len))
        return;
    snprintf(name, sizeof(name), "cell-%lld-%zu.%s", (long long)cell, n + 1,
             pictures[kind].extension);
    fd = make_file(d, name, path, sizeof(path));
    if (fd < 0 || fd_write_all(fd, bytes ? bytes : text, len) < 0)
        return;
    amount_of_bytes(len, size, sizeof(size));
    printf("[%s, %s: %s]\n", pictures[kind].kind, size, path);
}

static size_t columns(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col ? SIZE_MAX : size.ws_col;
}

void display_fit(const struct display *d, sbr_session *s)
{
    size_t width = d->terminal && !d->o->raw ? columns() : 0;

    sbr_session_set_width(s, width >= FIT_LEAST && width <= FIT_MOST ? (unsigned int)width : 0);
}

static void show_text(struct display *d, const char *text, size_t len)
{
    struct buf clean, colored;

    if (!d->terminal || d->o->raw || !d->language || !present_uses_color(STDOUT_FILENO, d->o) ||
        len > VALUE_MAX) {
        display_text(d, STDOUT_FILENO, text, len);
        return;
    }
    buf_init(&clean, TEXT_MAX);
    buf_init(&colored, TEXT_MAX);
    terminal_clean(&d->filters[0], text, len, &clean);
    highlight(d->language, clean.data, clean.len, &colored);
    fwrite(colored.data, 1, colored.len, stdout);
    buf_done(&clean);
    buf_done(&colored);
}

/* A table that is wider than the terminal is cut; without a terminal it stays whole. */
static void show_value(struct display *d, const char *text, size_t len)
{
    struct buf fitted;

    buf_init(&fitted, TEXT_MAX);
    if (d->terminal && !d->o->raw && table_fit(text, len, columns(), &fitted) && !fitted.failed)
        show_text(d, fitted.data, fitted.len);
    else
        show_text(d, text, len);
    buf_done(&fitted);
}

/* The lines around the one that failed, as a run shows them. */
static void show_diagnosis(struct display *d, const json_t *diagnosis)
{
    static const struct {
        const char *key, *title;
    } lines[] = { { "suggestion", "hint " }, { "link", "see  " } };
    const char *context = json_string_value(json_object_get(diagnosis, "context"));
    const char *file = json_string_value(json_object_get(diagnosis, "file"));
    bool hint = json_is_string(json_object_get(diagnosis, "suggestion"));

    if (!isatty(STDERR_FILENO) || d->o->quiet || (!context && !hint))
        return;
    if (context && file)
        fprintf(stderr, "at %.200s:%lld\n", file,
                (long long)json_integer_value(json_object_get(diagnosis, "line")));
    if (context) {
        display_text(d, STDERR_FILENO, context, strlen(context));
        fputc('\n', stderr);
    }
    for (size_t i = 0; hint && i < ARRAY_LEN(lines); i++) {
        const char *text = json_string_value(json_object_get(diagnosis, lines[i].key));

        if (text)
            fprintf(stderr, "%s%s\n", lines[i].title, text);
    }
}

static void show_bundle(struct display *d, const json_t *bundle, json_int_t cell, size_t n)
{
    const json_t *text = json_object_get(bundle, "text/plain");
    const char *plain = json_string_value(text);
    size_t len = json_string_length(text);

    if (plain) {
        show_value(d, plain, len);
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
    show_tail(d);
    if (d->terminal && d->filters[0].mid_line)
        fputc('\n', stdout);
    d->filters[0] = d->filters[1] = (struct terminal_filter){ 0 };
    json_array_foreach(json_object_get(result, "display"), i, bundle)
        show_bundle(d, bundle, cell, i);
    d->filters[0] = (struct terminal_filter){ 0 }; /* a value has its end of line */
    fflush(stdout);
    show_diagnosis(d, json_object_get(result, "diagnosis"));
    if (why && why[0] && outcome && strcmp(outcome, "exited") != 0 && !d->o->quiet)
        fprintf(stderr, "sandbox-run: %s\n", why);
    display_denials(d, result, display_status(result) != 0);
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
    if (!strcmp(outcome, "internal_error"))
        return EXIT_OURS;
    return EXIT_SIGNAL + (strcmp(outcome, "cancelled") ? SIGKILL : SIGINT);
}
