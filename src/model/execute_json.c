#include "model/executes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/result.h"

#define WORK "/work"
#define TIMED_OUT 124 /* as timeout(1) has it */

/* clang-format off */
static const struct {
    enum sbr_limit which;
    uint64_t value;
    const char *unit;
} defaults[] = {
    { SBR_WALL_MS,      300000,            "ms" },
    { SBR_MEMORY_BYTES, (uint64_t)2 << 30, "b"  },
    { SBR_DISK_BYTES,   (uint64_t)1 << 30, "b"  },
    { SBR_PIDS,         100,               ""   },
};
/* clang-format on */

static int wrong(const char *name, const char *must_be, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request", "the field '%.60s' must be %s", name, must_be);
}

static int set_same(json_t *request, const char *field, const char *name, const json_t *value,
                    sbr_error *err)
{
    (void)name;
    return json_object_set(request, field, (json_t *)(uintptr_t)value) < 0
               ? err_set_oom(err, "request")
               : 0;
}

static int set_limit(json_t *request, const char *field, const char *name, const json_t *value,
                     sbr_error *err)
{
    json_t *limits = json_object_get(request, "limits");
    scoped_free char *text = NULL;

    if (json_is_string(value))
        return set_same(limits, field, name, value, err);
    if (!json_is_number(value))
        return wrong(name, "a text, as in \"1.5\" or \"512m\"", err);
    text = text_format("%.15g", json_number_value(value));
    return !text || json_object_set_new(limits, field, json_string(text)) < 0
               ? err_set_oom(err, "request")
               : 0;
}

static int set_time(json_t *request, const char *field, const char *name, const json_t *value,
                    sbr_error *err)
{
    scoped_free char *text = NULL;

    if (!json_is_number(value) || json_number_value(value) < 0)
        return wrong(name, "a number of milliseconds", err);
    text = text_format("%.0fms", json_number_value(value));
    return !text || json_object_set_new(json_object_get(request, "limits"), field,
                                        json_string(text)) < 0
               ? err_set_oom(err, "request")
               : 0;
}

/* Without empty parts, "." and "..". */
static void normalize(char *path)
{
    char *to = path;

    for (const char *part = path; *part;) {
        size_t len = strcspn(part, "/");

        if (len == 2 && !strncmp(part, "..", 2)) {
            while (to > path && *--to != '/')
                ;
        } else if (len && (len != 1 || *part != '.')) {
            *to++ = '/';
            memmove(to, part, len);
            to += len;
        }
        part += len + (part[len] == '/');
    }
    *to = '\0';
}

/* A relative one stays as it is, to be refused. */
static int set_workdir(json_t *request, const char *field, const char *name, const json_t *value,
                       sbr_error *err)
{
    const char *given = json_string_value(value);
    scoped_free char *path = given && *given == '/' ? strdup(given) : NULL;

    if (!path)
        return set_same(request, field, name, value, err);
    normalize(path);
    return json_object_set_new(request, field, json_string(*path ? path : "/")) < 0
               ? err_set_oom(err, "request")
               : 0;
}

static int set_network(json_t *request, const char *field, const char *name, const json_t *value,
                       sbr_error *err)
{
    const char *mode = json_string_value(value);

    if (!mode && !json_is_boolean(value))
        return wrong(name, "none, localhost, allow, full or bridge; or true or false", err);
    if (json_is_true(value) || (mode && !strcmp(mode, "bridge")))
        mode = "full";
    if (json_object_set_new(request, field, json_string(mode ? mode : "none")) < 0)
        return err_set_oom(err, "request");
    return 0;
}

/* clang-format off */
static const struct setting {
    const char *name, *also, *field;
    int (*set)(json_t *request, const char *field, const char *name, const json_t *value,
               sbr_error *err);
} settings[] = {
    { "image",       NULL,           "image",     set_same    },
    { "workdir",     NULL,           "workdir",   set_workdir },
    { "env",         NULL,           "env",       set_same    },
    { "readOnly",    "read_only",    "read_only", set_same    },
    { "timeout",     NULL,           "timeout",   set_time    },
    { "cpuLimit",    "cpu_limit",    "cpus",      set_limit   },
    { "memoryLimit", "memory_limit", "memory",    set_limit   },
    { "networkMode", "network_mode", "network",   set_network },
    { "network",     NULL,           "network",   set_network },
};
/* clang-format on */

static int read_config(json_t *request, const json_t *config, sbr_error *err)
{
    const char *key;
    json_t *value;

    if (config && !json_is_object(config))
        return wrong("config", "an object", err);
    json_object_foreach((json_t *)(uintptr_t)config, key, value) {
        size_t i = 0;

        while (i < ARRAY_LEN(settings) && strcmp(settings[i].name, key) != 0 &&
               (!settings[i].also || strcmp(settings[i].also, key) != 0))
            i++;
        if (i == ARRAY_LEN(settings))
            return err_set(err, SBR_E_INVALID, "request",
                           "`config` has an unknown field '%.60s'; it takes image, timeout, "
                           "cpuLimit, memoryLimit, workdir, networkMode, readOnly and env",
                           key);
        if (!json_is_null(value) &&
            settings[i].set(request, settings[i].field, key, value, err) < 0)
            return err->code;
    }
    return 0;
}

/* A relative path begins at the work directory; what lies in /work is written as relative to it. */
static json_t *place_of(const char *path, const char *workdir)
{
    scoped_free char *full = text_format("/%s/%s", *path == '/' ? "" : workdir, path);
    bool at_work;

    if (!full)
        return NULL;
    normalize(full);
    at_work = !strncmp(full, WORK "/", strlen(WORK "/"));
    return json_string(full + (at_work ? strlen(WORK "/") : 0));
}

static json_t *file_of(const json_t *file, const char *workdir, sbr_error *err)
{
    const char *path = json_string_value(json_object_get(file, "path")), *key;
    bool executable = json_integer_value(json_object_get(file, "mode")) & 0111;
    json_t *made, *value;

    if (!path || !json_is_string(json_object_get(file, "content"))) {
        (void)wrong("files", "files with `path` and `content`", err);
        return NULL;
    }
    made = json_pack("{s:o?, s:b}", "path", place_of(path, workdir), "executable", executable);
    json_object_foreach((json_t *)(uintptr_t)file, key, value) {
        if (strcmp(key, "path") != 0 && strcmp(key, "mode") != 0)
            json_object_set(made, key, value);
    }
    if (!made)
        err_set_oom(err, "request");
    return made;
}

static int read_files(json_t *request, const json_t *files, sbr_error *err)
{
    const char *workdir = json_string_value(json_object_get(request, "workdir"));
    json_t *made = json_array(), *file;
    size_t i;

    json_object_set_new(request, "files", made);
    if (files && !json_is_array(files))
        return wrong("files", "a list", err);
    json_array_foreach(files, i, file) {
        json_t *one = file_of(file, workdir ? workdir : WORK, err);

        if (!one)
            return err->code;
        json_array_append_new(made, one);
    }
    return 0;
}

static int add_defaults(json_t *request, const struct execute_most *most, sbr_error *err)
{
    json_t *limits = json_object_get(request, "limits");

    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        const char *name = limit_defs[defaults[i].which].option;
        uint64_t bound = most ? most->limits[defaults[i].which] : LIMIT_NONE;
        char text[32];

        snprintf(text, sizeof(text), "%" PRIu64 "%s",
                 bound < defaults[i].value ? bound : defaults[i].value, defaults[i].unit);
        if (!json_object_get(limits, name) &&
            json_object_set_new(limits, name, json_string(text)) < 0)
            return err_set_oom(err, "request");
    }
    /* What a token has below one CPU is given without a word. */
    if (!json_object_get(limits, "cpus") && (!most || most->limits[SBR_CPU_MILLIS] >= 1000))
        json_object_set_new(limits, "cpus", json_string("1"));
    if (!json_object_get(request, "network"))
        json_object_set_new(request, "network",
                            json_string(most && most->network < NETWORK_LOCALHOST ? "none"
                                                                                  : "localhost"));
    return 0;
}

static int check_names(const json_t *body, sbr_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)body, key, value) {
        if (strcmp(key, "command") != 0 && strcmp(key, "config") != 0 && strcmp(key, "files") != 0)
            return err_set(err, SBR_E_INVALID, "request",
                           "there is no field '%.60s' here; an execution has `command`, `config` "
                           "and `files`",
                           key);
    }
    return 0;
}

json_t *execute_request(const json_t *body, const struct execute_most *most, sbr_error *err)
{
    const char *command = json_string_value(json_object_get(body, "command"));
    json_t *request;

    if (check_names(body, err) < 0)
        return NULL;
    if (!command || !*command) {
        (void)wrong("command", "a line of shell, as in \"npm test\"", err);
        return NULL;
    }
    request =
        json_pack("{s:[s,s,s], s:s, s:{}}", "args", "sh", "-c", command, "stdin", "", "limits");
    if (!request) {
        err_set_oom(err, "request");
        return NULL;
    }
    if (read_config(request, json_object_get(body, "config"), err) == 0 &&
        read_files(request, json_object_get(body, "files"), err) == 0 &&
        add_defaults(request, most, err) == 0)
        return request;
    json_decref(request);
    return NULL;
}

/* As a shell has it. */
static int status_of(const json_t *result)
{
    const char *outcome = json_string_value(json_object_get(result, "outcome"));
    const char *signal = json_string_value(json_object_get(result, "signal"));
    const json_t *code = json_object_get(result, "exit_code");

    if (outcome && (!strcmp(outcome, "timeout") || !strcmp(outcome, "cpu_limit")))
        return TIMED_OUT;
    if (json_is_integer(code))
        return (int)json_integer_value(code);
    return 128 + result_signal_number(signal ? signal : "SIGKILL");
}

json_t *execute_answer(const json_t *result)
{
    const json_t *metrics = json_object_get(result, "metrics");
    double peak = json_number_value(json_object_get(metrics, "peak_memory_bytes")) / (1 << 20);
    json_t *answer =
        json_pack("{s:i, s:O?, s:O?, s:f, s:{s:f, s:f, s:f}}", "exitCode", status_of(result),
                  "stdout", json_object_get(result, "stdout"), "stderr",
                  json_object_get(result, "stderr"), "duration",
                  json_number_value(json_object_get(metrics, "wall_ms")), "resourceUsage",
                  "cpuUsagePercent", json_number_value(json_object_get(metrics, "cpu_percent")),
                  "memoryUsageMb", peak, "maxMemoryMb", peak);
    static const char *const encodings[][2] = { { "stdout_encoding", "stdoutEncoding" },
                                                { "stderr_encoding", "stderrEncoding" } };

    for (size_t i = 0; answer && i < ARRAY_LEN(encodings); i++) {
        json_t *encoding = json_object_get(result, encodings[i][0]);

        if (encoding && strcmp(json_string_value(encoding), "base64") == 0)
            json_object_set(answer, encodings[i][1], encoding);
    }
    return answer;
}
