/* The command line that made a session, so that `restore` makes one like it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_read.h"
#include "cli/session_actions.h"

#define COMMAND_MAX ((size_t)4 << 20)
#define SELF "/proc/self/exe"

/* The words of this process behind the action, but how it answers; NULL without them. */
static json_t *own_words(const char *action)
{
    scoped_fd int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    scoped_free char *text = NULL;
    bool behind = false;
    sbr_error ignored;
    json_t *words;
    size_t len;

    if (fd < 0 || fd_read_text(fd, COMMAND_MAX, &text, &len, &ignored) < 0)
        return NULL;
    words = json_array();
    for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
        if (behind && strcmp(text + at, "--json") != 0 && strcmp(text + at, "--stream") != 0)
            json_array_append_new(words, json_string(text + at));
        behind = behind || !strcmp(text + at, action);
    }
    return words;
}

static void tell_session(const char *id, json_t *take_request)
{
    scoped_free char *request = take_request ? json_dumps(take_request, JSON_COMPACT) : NULL;
    scoped_free char *answer = NULL;
    sbr_error ignored; /* `restore` then needs its options again */
    sbr_session *s = NULL;

    json_decref(take_request);
    if (request && id && sbr_session_open(id, &s, &ignored) == 0)
        (void)!sbr_session_call(s, request, &answer, &ignored);
    sbr_session_free(s);
}

void session_words_keep(const char *json, bool restored)
{
    scoped_free char *directory = get_current_dir_name();
    json_t *words = own_words(restored ? "restore" : "create"), *made = json_read_own(json, 0);

    if (restored)
        json_array_remove(words, 0); /* the id */
    tell_session(json_string_value(json_object_get(made, "id")),
                 json_pack("{s:s, s:{s:s?, s:o?}}", "op", "note", "made_by", "directory", directory,
                           "words", words));
    json_decref(made);
}

/* What is known of the lost session that begins so. */
static json_t *recorded(const char *id, sbr_error *err)
{
    scoped_free char *text = NULL;
    json_t *all, *one, *found = NULL;
    size_t i;

    if (sbr_session_list(&text, err) < 0)
        return NULL;
    all = json_read_own(text, 0);
    json_array_foreach(json_object_get(all, "sessions"), i, one) {
        const char *there = json_string_value(json_object_get(one, "id"));

        if (there && !strncmp(there, id, strlen(id)))
            found = json_object_get(one, "made_by");
    }
    json_incref(found);
    json_decref(all);
    return found;
}

/* sandbox-run session restore ID WORDS... */
static int again(const char *id, const json_t *record, const struct options *o, sbr_error *err)
{
    const json_t *words = json_object_get(record, "words"), *word;
    const char *directory = json_string_value(json_object_get(record, "directory"));
    scoped_free const char **argv = calloc(json_array_size(words) + 7, sizeof(*argv));
    size_t i, n = 0;

    if (!argv)
        return err_set_oom(err, "session");
    argv[n++] = "sandbox-run";
    argv[n++] = "session";
    argv[n++] = "restore";
    argv[n++] = id;
    json_array_foreach(words, i, word)
        if (json_is_string(word))
            argv[n++] = json_string_value(word);
    if (o->json)
        argv[n++] = "--json";
    if (o->stream)
        argv[n++] = "--stream";
    if (directory && chdir(directory) < 0)
        return err_set_errno(err, "session",
                             "cannot go to '%.200s', where the session was made; give its options "
                             "again",
                             directory);
    execv(SELF, (char *const *)argv);
    return err_set_errno(err, "session", "cannot start the program again");
}

int session_words_again(const char *id, const struct options *o, sbr_error *err)
{
    json_t *given = own_words("restore"), *record;
    bool alone = json_array_size(given) == 1;
    int r = 0;

    json_decref(given);
    if (!alone)
        return 0;
    record = recorded(id, err);
    if (json_array_size(json_object_get(record, "words")))
        r = again(id, record, o, err);
    json_decref(record);
    return r;
}
