#include "cli/topics.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/present.h"
#include "cli/source.h"

#define MOST_WORDS 16 /* of $PAGER */
#define PAGE_MAX ((size_t)4 << 20)
#define COLUMNS_MOST 100

struct topic {
    const char *name, *file;
    const char *section; /* its heading; NULL: the whole page */
    const char *about;
};

/* clang-format off */
static const struct topic topics[] = {
    { "guide", "SANDBOX_RUN.md", NULL,
      "everything, by task" },
    { "network", "network.md", NULL,
      "what a program reaches, and what it was refused" },
    { "limits", "SANDBOX_RUN.md", "## Limits",
      "time, memory, processes, files, output" },
    { "workspaces", "workspaces.md", NULL,
      "projects, volumes, dry runs, changes, outputs" },
    { "engine", "engine.md", NULL,
      "sandboxes that are ready before the program is known" },
    { "http", "http.md", NULL,
      "the sandbox over HTTP, tokens, WebSockets" },
    { "languages", "languages.md", NULL,
      "all languages, and how to add one" },
    { "dependencies", "dependencies.md", NULL,
      "packages, registries, what is kept" },
    { "policies", "policies.md", NULL,
      "what a program may ask of the kernel" },
    { "configuration", "configuration.md", NULL,
      "defaults of the user and of a project" },
    { "request", "request.md", NULL,
      "requests as JSON" },
    { "result", "result.md", NULL,
      "results as JSON, outcomes, denials, exit status" },
    { "hosts", "hosts.md", NULL,
      "isolation tiers, and what each host gives" },
    { "environment", "environment.md", NULL,
      "variables that are read" },
    { "security", "SECURITY.md", NULL,
      "what is a boundary, and against whom" },
};

/* From the directory of the program: a build tree, then an installation. */
static const char *const places[] = { "../docs", "..", "../../share/doc/sandbox-run",
                                      "../share/doc/sandbox-run" };
/* clang-format on */

const char *topic_name(size_t i)
{
    return i < ARRAY_LEN(topics) ? topics[i].name : NULL;
}

const char *topic_about(size_t i)
{
    return i < ARRAY_LEN(topics) ? topics[i].about : NULL;
}

static const struct topic *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(topics); i++)
        if (!strcmp(topics[i].name, name))
            return &topics[i];
    return NULL;
}

bool topic_exists(const char *name)
{
    return find(name) != NULL;
}

static int read_page(const char *file, char **ret, size_t *ret_len, sbr_error *err)
{
    char own[4096], path[4200];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *slash;

    own[len > 0 ? len : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < ARRAY_LEN(places); i++) {
        snprintf(path, sizeof(path), "%s/%s/%s", own, places[i], file);
        if (access(path, R_OK) == 0)
            return source_read_path(path, ret, ret_len, err);
    }
    return err_set(
        err, SBR_E_NOT_FOUND, "help",
        "the page '%s' is not installed beside this program; it is in docs/ of the source", file);
}

/* Cuts the page to the section: from its heading to the next of the same level. */
static const char *cut_section(char *page, const char *heading)
{
    char *start = page, *end;

    while (start && strncmp(start, heading, strlen(heading)) != 0) {
        start = strchr(start, '\n');
        start += start != NULL;
    }
    if (!start || !*start)
        return page;
    end = strstr(start + 1, "\n## ");
    if (end)
        end[1] = '\0';
    return start;
}

/* The words of a pager's command line, cut at blanks; no shell reads them. */
static bool start_pager(const char *command, int text_fd, pid_t *ret)
{
    scoped_free char *copy = strdup(command);
    char *words[MOST_WORDS + 1], *rest = copy;
    posix_spawn_file_actions_t actions;
    size_t n = 0;
    int r;

    for (char *word; n < MOST_WORDS && (word = strsep(&rest, " "));)
        if (*word)
            words[n++] = word;
    words[n] = NULL;
    if (!copy || !n || posix_spawn_file_actions_init(&actions) != 0)
        return false;
    r = posix_spawn_file_actions_adddup2(&actions, text_fd, STDIN_FILENO);
    if (r == 0)
        r = posix_spawnp(ret, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return r == 0;
}

static bool start_any_pager(int text_fd, pid_t *ret)
{
    const char *const choices[] = { getenv("PAGER"), "less", "more" };

    (void)setenv("LESS", "FRX", 0); /* R: colours */
    for (size_t i = 0; i < ARRAY_LEN(choices); i++)
        if (choices[i] && *choices[i] && start_pager(choices[i], text_fd, ret))
            return true;
    return false;
}

/* A reader of help at a terminal wants to scroll.  Without a pager the text is simply printed. */
static void page_out(const char *text)
{
    scoped_fd int reading = -1;
    int fds[2];
    pid_t pager;

    if (!isatty(STDOUT_FILENO) || pipe2(fds, O_CLOEXEC) < 0) {
        fputs(text, stdout);
        return;
    }
    reading = fds[0];
    fflush(stdout);
    if (start_any_pager(reading, &pager)) {
        scope_close_fd(&reading);
        (void)fd_write_all(fds[1], text, strlen(text)); /* a reader may leave early */
        close(fds[1]);
        (void)waitpid(pager, NULL, 0);
        return;
    }
    close(fds[1]);
    fputs(text, stdout);
}

/* As wide as the terminal, but lines that a reader can follow. */
static size_t columns(void)
{
    struct winsize size = { 0 };

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
        return COLUMNS_MOST;
    return size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
}

int topic_show(const char *name, const struct options *o, sbr_error *err)
{
    const struct topic *topic = find(name);
    scoped_free char *page = NULL;
    const char *text;
    struct buf shown;
    size_t len;

    if (!topic)
        return err_set(err, SBR_E_NOT_FOUND, "help", "there is no topic '%.60s'", name);
    if (read_page(topic->file, &page, &len, err) < 0)
        return err->code;
    text = topic->section ? cut_section(page, topic->section) : page;
    if (!isatty(STDOUT_FILENO)) {
        fputs(text, stdout);
        return 0;
    }
    buf_init(&shown, PAGE_MAX);
    render_page(text, columns(), present_uses_color(STDOUT_FILENO, o), &shown);
    page_out(shown.failed ? text : shown.data);
    buf_done(&shown);
    return 0;
}
