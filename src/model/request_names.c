/* Patterns of files and names of commands, checked as text. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/exclude.h"
#include "model/request.h"

static int add_pattern(struct string_list *list, const char *word, const char *pattern,
                       sbr_error *err)
{
    if (exclude_check(word, pattern, err) < 0)
        return err->code;
    if (list->n >= EXCLUDE_MAX_PATTERNS)
        return err_set(err, SBR_E_INVALID, "request",
                       "%s '%.100s' is one too many; a request has at most %d patterns", word,
                       pattern, EXCLUDE_MAX_PATTERNS);
    return string_list_add(list, pattern, err);
}

int request_add_exclude(sbr_request *req, const char *pattern, sbr_error *err)
{
    return add_pattern(&req->excludes, request_word(req, CALLED_EXCLUDE), pattern, err);
}

int request_add_include(sbr_request *req, const char *pattern, sbr_error *err)
{
    return add_pattern(&req->includes, request_word(req, CALLED_INCLUDE), pattern, err);
}

int request_allow_commands(sbr_request *req, const char *names, sbr_error *err)
{
    scoped_free char *copy = strdup(names);
    char *rest = NULL;
    const char *word = request_word(req, CALLED_ALLOW_COMMAND);

    if (!copy)
        return err_set_oom(err, "request");
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (strchr(name, '/') ? name[0] != '/' : !text_is_safe_relative_path(name, 255))
            return err_set(err, SBR_E_INVALID, "request",
                           "%s '%.100s' is neither the name of a command nor an absolute path",
                           word, name);
        if (string_list_add(&req->commands, name, err) < 0)
            return err->code;
    }
    if (!names[strspn(names, ",")] || req->commands.n > REQUEST_MAX_COMMANDS)
        return err_set(err, SBR_E_INVALID, "request", "%s takes 1 to %d names, as in find,ls,sed",
                       word, REQUEST_MAX_COMMANDS);
    return 0;
}

int request_add_secret(sbr_request *req, const char *text, sbr_error *err)
{
    return secrets_add_text(&req->secrets, text, err);
}

int request_name_secret(sbr_request *req, const char *name, sbr_error *err)
{
    return secrets_add_name(&req->secrets, name, err);
}

int request_publish(sbr_request *req, const char *text, sbr_error *err)
{
    struct publish_rule rule;

    return publish_parse(text, &rule, err) < 0 ? err->code : publish_add(&req->publish, &rule, err);
}
