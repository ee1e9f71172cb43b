/* Docker's words that only look: at this program, at the named runs, at one of them. */
#include "cli/docker_show.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "cli/amounts.h"
#include "cli/docker_names.h"
#include "image/image_store.h"
#include "sandboxrun.h"

#define GROUPS "/sys/fs/cgroup"
#define TEXT_MAX 4096

static const char *version_text(char buf[40])
{
    uint32_t v = sbr_version();

    snprintf(buf, 40, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, v >> 16, v >> 8 & 0xff, v & 0xff);
    return buf;
}

static int no_words(char **words, const char *what, sbr_error *err)
{
    if (!words[0])
        return 0;
    return err_set(err, SBR_E_UNSUPPORTED, "docker",
                   "`docker %s` takes no options here, not '%.60s'", what, words[0]);
}

int docker_show_version(char **words, sbr_error *err)
{
    char version[40];

    if (no_words(words, "version", err) < 0)
        return err->code;
    printf("Client: sandbox-run\n Version:  %s\n\nServer: none; each run is a process of its own\n",
           version_text(version));
    return 0;
}

static void count_named(void *context, const struct docker_named *one)
{
    (void)one;
    ++*(size_t *)context;
}

static int count_image(void *context, const struct image_item *one)
{
    (void)one;
    ++*(size_t *)context;
    return 0;
}

int docker_show_info(char **words, sbr_error *err)
{
    size_t running = 0, images = 0;
    struct sysinfo machine = { 0 };
    struct utsname host = { 0 };
    char version[40], memory[24];

    if (no_words(words, "info", err) < 0 || docker_names_list(count_named, &running, err) < 0 ||
        image_store_list(count_image, &images, err) < 0)
        return err->code;
    (void)uname(&host);
    (void)sysinfo(&machine);
    amount_of_bytes((uint64_t)machine.totalram * machine.mem_unit, memory, sizeof(memory));
    printf("Containers: %zu\n Running: %zu\nImages: %zu\nServer Version: sandbox-run %s\n"
           "Cgroup Version: %d\nKernel Version: %s\nArchitecture: %s\nCPUs: %ld\n"
           "Total Memory: %s\n",
           running, running, images, version_text(version),
           access(GROUPS "/cgroup.controllers", F_OK) == 0 ? 2 : 1, host.release, host.machine,
           sysconf(_SC_NPROCESSORS_ONLN), memory);
    return 0;
}

static bool read_text(int dir_fd, const char *path, char text[TEXT_MAX])
{
    ssize_t n = fd_read_small(dir_fd, path, text, TEXT_MAX - 1);

    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The group of a process in the hierarchy of version 2; "": it has none. */
static void group_of(pid_t pid, char ret[TEXT_MAX])
{
    char path[40], text[TEXT_MAX], *line;

    ret[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    if (!read_text(AT_FDCWD, path, text) || !(line = strstr(text, "0::/")))
        return;
    line[strcspn(line, "\n")] = '\0';
    snprintf(ret, TEXT_MAX, "%s%s", GROUPS, line + strlen("0::"));
}

/* The run's own group: that of the child of its supervisor which is in another one.  -1: the run
 * has none, or an engine's sandbox. */
static int open_group(pid_t pid)
{
    char path[64], children[TEXT_MAX], own[TEXT_MAX], group[TEXT_MAX], *at, *end;

    group_of(pid, own);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (!read_text(AT_FDCWD, path, children))
        return -1;
    for (at = children; strtol(at, &end, 10) > 0 && end != at; at = end) {
        group_of((pid_t)strtol(at, NULL, 10), group);
        if (group[0] && strcmp(group, own) != 0)
            return open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return -1;
}

static bool read_number(int dir_fd, const char *file, const char *field, uint64_t *ret)
{
    char text[TEXT_MAX], *at = text;

    if (dir_fd < 0 || !read_text(dir_fd, file, text))
        return false;
    if (field && !(at = strstr(text, field)))
        return false;
    *ret = strtoull(at + (field ? strlen(field) : 0), NULL, 10);
    return true;
}

/* "-": what is not known. */
static void print_stats(void *context, const struct docker_named *one)
{
    scoped_fd int group = open_group(one->pid);
    char memory[24] = "-", pids[24] = "-", cpu[24] = "-";
    uint64_t value;

    (void)context;
    if (read_number(group, "memory.current", NULL, &value))
        amount_of_bytes(value, memory, sizeof(memory));
    if (read_number(group, "pids.current", NULL, &value))
        snprintf(pids, sizeof(pids), "%" PRIu64, value);
    if (read_number(group, "cpu.stat", "usage_usec ", &value))
        snprintf(cpu, sizeof(cpu), "%.2f s", (double)value / 1e6);
    printf("%-24s  %10s  %10s  %6s\n", one->name, cpu, memory, pids);
}

int docker_show_stats(char **words, sbr_error *err)
{
    if (words[0] && !strcmp(words[0], "--no-stream"))
        words++;
    if (no_words(words, "stats", err) < 0)
        return err->code;
    printf("%-24s  %10s  %10s  %6s\n", "NAME", "CPU TIME", "MEMORY", "PIDS");
    return docker_names_list(print_stats, NULL, err);
}

struct inspected {
    const char *name;
    struct jsonw json;
    bool found;
};

static void describe(void *context, const struct docker_named *one)
{
    struct inspected *to = context;
    struct jsonw *j = &to->json;
    time_t started = (time_t)one->started;
    char text[40] = "";
    struct tm tm;

    if (strcmp(one->name, to->name) != 0)
        return;
    if (gmtime_r(&started, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    to->found = true;
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "Name", one->name);
    jsonw_text(j, "Image", one->image);
    jsonw_open(j, "State", '{');
    jsonw_text(j, "Status", "running");
    jsonw_bool(j, "Running", true);
    jsonw_number(j, "Pid", (uint64_t)one->pid);
    jsonw_text(j, "StartedAt", text);
    jsonw_close(j, '}');
    jsonw_close(j, '}');
}

int docker_show_inspect(char **words, sbr_error *err)
{
    struct inspected one = { .name = words[0] };
    scoped_free char *text = NULL;
    int r;

    if (!words[0] || words[0][0] == '-' || words[1])
        return err_set(err, SBR_E_UNSUPPORTED, "docker",
                       "give one name of a run and no options; `docker images` lists images");
    jsonw_init(&one.json, true);
    jsonw_open(&one.json, NULL, '[');
    r = docker_names_list(describe, &one, err);
    if (r == 0 && !one.found)
        r = err_set(err, SBR_E_NOT_FOUND, "docker",
                    "no run that lives has the name '%.80s'; `docker ps` lists them", words[0]);
    jsonw_close(&one.json, ']');
    text = jsonw_take(&one.json);
    if (r == 0 && text)
        puts(text);
    return r < 0 || text ? r : err_set_oom(err, "docker");
}
