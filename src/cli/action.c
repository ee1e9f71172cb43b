#include "cli/action.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define MOST_ACTIONS 32

static int check_words(const struct options *o, const struct action *action, sbr_error *err)
{
    size_t given = o->n_positional ? o->n_positional - 1 : 0;
    const char *command = o->command->name;

    if (given >= action->min_words && given <= action->max_words)
        return 0;
    if (action->max_words == 0)
        return err_set(err, SBR_E_INVALID, command, "`sandbox-run %s %s` takes no '%.60s'", command,
                       action->name, o->positional[1]);
    return err_set(err, SBR_E_INVALID, command, "%s `sandbox-run %s %s%s`",
                   given < action->min_words ? "say which:" : "too many words; say", command,
                   action->name, action->words);
}

static bool is_id(const char *word)
{
    return strlen(word) >= 4 && word[strspn(word, "0123456789abcdef")] == '\0';
}

/* What other tools call it. */
static const char *const other_words[][2] = {
    { "run", "exec" },    { "new", "create" },       { "start", "create" },  { "add", "create" },
    { "make", "create" }, { "ls", "list" },          { "ps", "list" },       { "all", "list" },
    { "rm", "remove" },   { "rm", "drop" },          { "rm", "close" },      { "rm", "revoke" },
    { "remove", "drop" }, { "remove", "close" },     { "remove", "revoke" }, { "delete", "remove" },
    { "delete", "drop" }, { "delete", "close" },     { "delete", "revoke" }, { "del", "remove" },
    { "drop", "remove" }, { "stop", "close" },       { "kill", "close" },    { "end", "close" },
    { "cat", "show" },    { "get", "show" },         { "info", "show" },     { "inspect", "show" },
    { "view", "show" },   { "clean", "prune" },      { "gc", "prune" },      { "clear", "prune" },
    { "upload", "put" },  { "download", "get" },     { "undo", "rollback" }, { "copy", "fork" },
    { "clone", "fork" },  { "cancel", "interrupt" },
};

static const char *find_other_word(const char *word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(other_words); i++)
        for (size_t k = 0; !strcmp(word, other_words[i][0]) && k < n; k++)
            if (!strcmp(other_words[i][1], names[k]))
                return names[k];
    return NULL;
}

/* An id alone most likely wants to be shown; otherwise names what there is. */
static void refuse_word(const struct options *o, const struct action *actions, const char *word,
                        sbr_error *err)
{
    const char *command = o->command->name;
    char names[320] = "";
    size_t used = 0;

    for (size_t i = 0; actions[i].name && used < sizeof(names); i++) {
        if (is_id(word) && !strcmp(actions[i].name, "show")) {
            err_set(err, SBR_E_INVALID, command,
                    "there is no `sandbox-run %s %.60s`; did you mean `sandbox-run %s show %.60s`?",
                    command, word, command, word);
            return;
        }
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 actions[i].name);
    }
    err_set(err, SBR_E_INVALID, command, "there is no `sandbox-run %s %.60s`; say one of: %s",
            command, word, names);
}

const struct action *action_find(const struct options *o, const struct action *actions,
                                 sbr_error *err)
{
    const char *word = o->n_positional ? o->positional[0] : actions[0].name;
    const char *names[MOST_ACTIONS], *near;
    size_t n = 0;

    for (; n < MOST_ACTIONS && actions[n].name; n++) {
        if (!strcmp(word, actions[n].name))
            return check_words(o, &actions[n], err) < 0 ? NULL : &actions[n];
        names[n] = actions[n].name;
    }
    near = find_other_word(word, names, n);
    near = near ? near : text_nearest(word, names, n);
    if (!near)
        refuse_word(o, actions, word, err);
    else
        err_set(err, SBR_E_INVALID, o->command->name,
                "there is no `sandbox-run %s %.60s`; did you mean `%s`?", o->command->name, word,
                near);
    return NULL;
}
