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

/* Where the kernel counts, by version 2 of cgroups and by the hierarchy of version 1. */
enum figure { FIGURE_CPU, FIGURE_MEMORY, FIGURE_PIDS, N_FIGURES };

static const struct {
    const char *file, *field; /* of version 2 */
    const char *hierarchy, *file_v1;
    uint64_t per_us; /* of version 1: units in a microsecond, for CPU time */
} figures[N_FIGURES] = {
    [FIGURE_CPU] = { "cpu.stat", "usage_usec ", "cpuacct", "cpuacct.usage", 1000 },
    [FIGURE_MEMORY] = { "memory.current", "", "memory", "memory.usage_in_bytes", 1 },
    [FIGURE_PIDS] = { "pids.current", "", "pids", "pids.current", 1 },
};

/* The path of a process in one hierarchy; "": it has none. */
static void group_of(pid_t pid, const char *hierarchy, char ret[TEXT_MAX])
{
    char path[40], text[TEXT_MAX], *save = NULL;
    size_t len = strlen(hierarchy);

    ret[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    if (!read_text(AT_FDCWD, path, text))
        return;
    /* NUMBER:HIERARCHY[,HIERARCHY]:PATH */
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

        for (char *at = names; at && at < group; at = strpbrk(at + 1, ",:"))
            if (!strncmp(at + 1, hierarchy, len) && strchr(",:", at[1 + len]))
                snprintf(ret, TEXT_MAX, "%s", group + 1);
    }
}

/* That of the child of the run's supervisor which is in another group; false: the run has none, or
 * an engine's sandbox. */
static bool find_group(pid_t pid, const char *hierarchy, char ret[TEXT_MAX])
{
    char path[64], children[TEXT_MAX], own[TEXT_MAX], *at, *end;

    group_of(pid, hierarchy, own);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (!read_text(AT_FDCWD, path, children))
        return false;
    for (at = children; strtol(at, &end, 10) > 0 && end != at; at = end) {
        group_of((pid_t)strtol(at, NULL, 10), hierarchy, ret);
        if (ret[0] && strcmp(ret, own) != 0)
            return true;
    }
    return false;
}

static bool read_figure(pid_t pid, enum figure which, uint64_t *ret)
{
    bool v2 = access(GROUPS "/cgroup.controllers", F_OK) == 0;
    const char *hierarchy = v2 ? "" : figures[which].hierarchy;
    char group[TEXT_MAX], path[TEXT_MAX], text[TEXT_MAX], *at = text;

    if (!find_group(pid, hierarchy, group) ||
        snprintf(path, sizeof(path), GROUPS "/%s%s/%s", hierarchy, group,
                 v2 ? figures[which].file : figures[which].file_v1) >= (int)sizeof(path) ||
        !read_text(AT_FDCWD, path, text) || (v2 && !(at = strstr(text, figures[which].field))))
        return false;
    *ret = strtoull(at + (v2 ? strlen(figures[which].field) : 0), NULL, 10) /
           (v2 ? 1 : figures[which].per_us);
    return true;
}

/* "-": what is not known. */
static void print_stats(void *context, const struct docker_named *one)
{
    char memory[24] = "-", pids[24] = "-", cpu[24] = "-";
    uint64_t value;

    (void)context;
    if (read_figure(one->pid, FIGURE_MEMORY, &value))
        amount_of_bytes(value, memory, sizeof(memory));
    if (read_figure(one->pid, FIGURE_PIDS, &value))
        snprintf(pids, sizeof(pids), "%" PRIu64, value);
    if (read_figure(one->pid, FIGURE_CPU, &value))
        snprintf(cpu, sizeof(cpu), "%.2fs", (double)value / 1e6);
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
