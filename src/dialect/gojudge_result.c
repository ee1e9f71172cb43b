#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "dialect/gojudge.h"
#include "model/result.h"

#define NS_OF_MS 1e6

/* clang-format off */
static const struct {
    const char *outcome, *status;
} statuses[] = {
    { "signaled",       "Signalled" },
    { "timeout",        "Time Limit Exceeded" },
    { "cpu_limit",      "Time Limit Exceeded" },
    { "memory_limit",   "Memory Limit Exceeded" },
    { "output_limit",   "Output Limit Exceeded" },
    { "disk_limit",     "Output Limit Exceeded" },
    { "process_limit",  "Nonzero Exit Status" },
    { "denied",         "Dangerous Syscall" },
    { "cancelled",      "Internal Error" },
    { "internal_error", "Internal Error" },
};
/* clang-format on */

static const char *status_of(const json_t *result)
{
    const char *outcome = translate_word(result, "outcome");

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (!strcmp(statuses[i].outcome, outcome))
            return statuses[i].status;
    return json_integer_value(json_object_get(result, "exit_code")) ? "Nonzero Exit Status"
                                                                    : "Accepted";
}

json_t *gojudge_failure(const char *message)
{
    return json_pack("{s:s, s:i, s:s, s:i, s:i, s:i}", "status", "Internal Error", "exitStatus", 0,
                     "error", message, "time", 0, "memory", 0, "runTime", 0);
}

static void add_file_error(json_t *answer, const char *name, const char *type, const char *message)
{
    json_t *list = json_object_get(answer, "fileError");

    if (!list) {
        list = json_array();
        json_object_set_new(answer, "fileError", list);
    }
    json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", name, "type", type, "message",
                                          message));
    if (!strcmp(translate_word(answer, "status"), "Accepted"))
        json_object_set_new(answer, "status", json_string("File Error"));
}

static json_t *member(json_t *answer, const char *name)
{
    json_t *object = json_object_get(answer, name);

    if (object)
        return object;
    json_object_set_new(answer, name, json_object());
    return json_object_get(answer, name);
}

/* For the store, which is the loop's. */
static void leave_file(struct gojudge_command *c, const char *name, char *data, size_t len)
{
    struct gojudge_left *left = realloc(c->left, (c->n_left + 1) * sizeof(*left));
    struct response_text *content = response_text_of_bytes(data, len);

    if (left)
        c->left = left;
    if (left && content)
        left[c->n_left++] = (struct gojudge_left){ strdup(name), content };
    else
        response_text_drop(content);
}

void gojudge_store_left(struct gojudge_command *c, json_t *answer)
{
    for (size_t i = 0; i < c->n_left; i++) {
        const char *name = c->left[i].name ? c->left[i].name : "";
        const struct gojudge_file *kept =
            gojudge_store_add(c->server, c->tenant, name, take_ptr(c->left[i].content));

        if (kept)
            json_object_set_new(member(answer, "fileIds"), name, json_string(kept->id));
        else
            add_file_error(answer, name, "CopyOutCreateFile", "the store of files is full");
    }
}

/* Bytes under a name: into `files`, or for the store. */
static void put_file(struct gojudge_command *c, json_t *answer, const char *name, char *data,
                     size_t len, bool cached)
{
    if (cached) {
        leave_file(c, name, data, len);
        return;
    }
    json_object_set_new(member(answer, "files"), name, translate_text(data, len));
    free(data);
}

static json_int_t maximum_of(const json_t *cmd, const char *name)
{
    const json_t *file;
    size_t i;

    json_array_foreach(json_object_get(cmd, "files"), i, file)
        if (!strcmp(translate_word(file, "name"), name))
            return json_integer_value(json_object_get(file, "max"));
    return 0;
}

/* What a collector is called; NULL: the stream is not collected. */
static const char *collector(const json_t *cmd, size_t i)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(cmd, "files"), i), "name"));
}

static void put_streams(struct gojudge_command *c, json_t *answer, const json_t *result)
{
    static const char *const streams[] = { NULL, "stdout", "stderr" };

    for (size_t i = 1; i < ARRAY_LEN(streams); i++) {
        const char *name = collector(c->given, i);
        json_int_t most;
        size_t len;
        char *data;

        if (!name)
            continue;
        most = maximum_of(c->given, name);
        data = translate_stream(result, streams[i], &len);
        if (most > 0 && len > (size_t)most) {
            len = (size_t)most;
            json_object_set_new(answer, "status", json_string("Output Limit Exceeded"));
        }
        if (data)
            put_file(c, answer, name, data, len, false);
    }
}

/* Where a collected file is on the host, in our own directory; NULL: it is not there. */
static const char *saved_at(const struct output_files *files, const char *name)
{
    for (size_t i = 0; i < files->n; i++) {
        const char *path = files->items[i].path;

        if (name[0] != '/' && !strncmp(path, "/work/", 6))
            path += 6;
        if (!strcmp(path, name))
            return files->items[i].saved;
    }
    return NULL;
}

static void put_collected(struct gojudge_command *c, json_t *answer,
                          const struct output_files *files, const char *wanted, bool cached)
{
    size_t len = strlen(wanted), most = GOJUDGE_FILE_MAX, n;
    bool optional = len && wanted[len - 1] == '?';
    json_int_t given = json_integer_value(json_object_get(c->given, "copyOutMax"));
    scoped_free char *name = strndup(wanted, len - optional);
    scoped_fd int fd = -1;
    const char *place;
    struct stat st;
    char *data;
    sbr_error err;

    if (!name || !*name)
        return;
    place = saved_at(files, name);
    fd = place ? open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    most = given > 0 && (size_t)given < most ? (size_t)given : most;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        if (!optional)
            add_file_error(answer, name, "CopyOutOpen", "the command left no such file");
    } else if ((size_t)st.st_size > most &&
               !json_is_true(json_object_get(c->given, "copyOutTruncate"))) {
        add_file_error(answer, name, "CopyOutSizeExceeded", "the file is larger than allowed");
    } else if (fd_read_text(fd, most + 1, &data, &n, &err) < 0) {
        add_file_error(answer, name, "CopyOutCopyContent", "the file cannot be read");
    } else {
        put_file(c, answer, name, data, n < most ? n : most, cached);
    }
}

/* It may have a NUL. */
static void leave_stream(struct gojudge_command *c, const char *name, const json_t *stream)
{
    size_t len = json_string_length(stream);
    char *data = malloc(len + 1);

    if (data)
        memcpy(data, json_string_value(stream), len + 1);
    leave_file(c, name, data, len);
}

static void put_files(struct gojudge_command *c, json_t *answer, const json_t *result,
                      const struct output_files *files)
{
    static const char *const lists[] = { "copyOut", "copyOutCached" };

    put_streams(c, answer, result);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const json_t *name;
        size_t j;

        json_array_foreach(json_object_get(c->given, lists[i]), j, name) {
            const char *text = json_string_value(name);
            const json_t *stream =
                json_object_get(json_object_get(answer, "files"), text ? text : "");

            if (!text)
                continue;
            if (!stream)
                put_collected(c, answer, files, text, i == 1);
            else if (i == 1)
                leave_stream(c, text, stream);
        }
    }
}

static json_int_t exit_status(const json_t *result)
{
    const json_t *code = json_object_get(result, "exit_code");
    int number = result_signal_number(translate_word(result, "signal"));

    return json_is_integer(code) ? json_integer_value(code) : number ? number : SIGKILL;
}

json_t *gojudge_result(const struct execution *e, const json_t *result,
                       const struct output_files *files)
{
    json_t *answer =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "status", status_of(result), "exitStatus",
                  exit_status(result), "time",
                  (json_int_t)((translate_metric(result, "cpu_user_ms") +
                                translate_metric(result, "cpu_system_ms")) *
                               NS_OF_MS),
                  "memory", (json_int_t)translate_metric(result, "peak_memory_bytes"), "runTime",
                  (json_int_t)(translate_metric(result, "wall_ms") * NS_OF_MS), "procPeak",
                  (json_int_t)translate_metric(result, "peak_processes"));

    put_files(e->ended_context, answer, result, files);
    return answer;
}
