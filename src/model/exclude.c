#include "model/exclude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/outputs.h"
#include "model/request.h"

/* The first row that matches a name decides.  Names, not patterns: a tree can have 100,000 files,
 * and each of them is compared with the rows. */
/* clang-format off */
#define ROW(text, answer) { text, sizeof(text) - 1, answer }
struct secret_name {
    const char *text;
    size_t len;
    enum exclude_answer answer;
};

/* Whole names, or with a last '.' what names begin with. */
static const struct secret_name names[] = {
    ROW(".env.example", EXCLUDE_NO),
    ROW(".env.sample", EXCLUDE_NO),
    ROW(".env.template", EXCLUDE_NO),
    ROW(".env.dist", EXCLUDE_NO),
    ROW(".env", EXCLUDE_YES),
    ROW(".env.", EXCLUDE_YES),
    ROW(".envrc", EXCLUDE_YES),
    ROW("id_rsa", EXCLUDE_YES),
    ROW("id_dsa", EXCLUDE_YES),
    ROW("id_ecdsa", EXCLUDE_YES),
    ROW("id_ecdsa_sk", EXCLUDE_YES),
    ROW("id_ed25519", EXCLUDE_YES),
    ROW("id_ed25519_sk", EXCLUDE_YES),
    ROW(".netrc", EXCLUDE_YES),
    ROW("_netrc", EXCLUDE_YES),
    ROW(".git-credentials", EXCLUDE_YES),
    ROW(".pgpass", EXCLUDE_YES),
    ROW(".pypirc", EXCLUDE_YES),
    ROW(".npmrc", EXCLUDE_IF_TOKEN),
    ROW(".yarnrc", EXCLUDE_IF_TOKEN),
    ROW(".yarnrc.yml", EXCLUDE_IF_TOKEN),
    ROW(".vault-token", EXCLUDE_YES),
    ROW(".aws", EXCLUDE_YES),
    ROW(".azure", EXCLUDE_YES),
    ROW(".gnupg", EXCLUDE_YES),
    ROW(".kube", EXCLUDE_YES),
    ROW(".ssh", EXCLUDE_YES),
};

/* What paths end with. */
static const struct secret_name ends[] = {
    ROW(".pem", EXCLUDE_UNLESS_PUBLIC),
    ROW(".key", EXCLUDE_UNLESS_PUBLIC),
    ROW(".p12", EXCLUDE_YES),
    ROW(".pfx", EXCLUDE_YES),
    ROW(".jks", EXCLUDE_YES),
    ROW(".keystore", EXCLUDE_YES),
    ROW(".kdbx", EXCLUDE_YES),
    ROW(".docker/config.json", EXCLUDE_YES),
    ROW(".config/gcloud", EXCLUDE_YES),
    ROW(".cargo/credentials", EXCLUDE_YES),
    ROW(".cargo/credentials.toml", EXCLUDE_YES),
};
/* clang-format on */

static enum exclude_answer ask_names(const char *name, size_t len)
{
    if (!strchr("._i", name[0])) /* as every row begins */
        return EXCLUDE_NO;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t n = names[i].len;
        bool begins = names[i].text[n - 1] == '.' && n < len;

        if ((n == len || begins) && !memcmp(name, names[i].text, n))
            return names[i].answer;
    }
    return EXCLUDE_NO;
}

/* Two characters rule out nearly every path. */
static enum exclude_answer ask_ends(const char *path, size_t len)
{
    if (len < 2)
        return EXCLUDE_NO;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t n = ends[i].len;

        if (path[len - 1] == ends[i].text[n - 1] && path[len - 2] == ends[i].text[n - 2] &&
            n <= len && !memcmp(path + len - n, ends[i].text, n))
            return ends[i].answer;
    }
    return EXCLUDE_NO;
}

static enum exclude_answer ask_secrets(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strlen(name);
    enum exclude_answer answer = ask_names(name, len);

    return answer == EXCLUDE_NO ? ask_ends(path, (size_t)(name - path) + len) : answer;
}

static int pattern_fault(const char *word, const char *pattern, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request", "%s '%.100s' %s", word, pattern, what);
}

int exclude_check(const char *word, const char *pattern, sbr_error *err)
{
    size_t parts = 1;

    if (!pattern[strspn(pattern, "/")])
        return pattern_fault(word, pattern, "is empty; give a pattern such as '*.log' or build/",
                             err);
    if (pattern[0] == '!')
        return pattern_fault(word, pattern,
                             "begins with '!'; to show what is left out, include the rest of it",
                             err);
    for (const char *p = pattern; *p; p++) {
        parts += *p == '/';
        if ((unsigned char)*p < 0x20)
            return pattern_fault(word, pattern, "has a control character; remove it", err);
    }
    if (parts > OUTPUTS_MAX_PARTS || strlen(pattern) > REQUEST_MAX_PATH)
        return pattern_fault(word, pattern, "is too long; shorten it", err);
    return 0;
}

/* Drops the end of a line that means nothing: blanks, unless escaped. */
static size_t line_len(const char *line, size_t len)
{
    while (len && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r') &&
           !(len > 1 && line[len - 2] == '\\'))
        len--;
    return len;
}

static int take_line(struct exclude *rules, const char *line, sbr_error *err)
{
    const char *pattern = line + (*line == '!');

    if (!*line || *line == '#')
        return 0;
    if (rules->ignored.n == EXCLUDE_MAX_PATTERNS)
        return err_set(err, SBR_E_INVALID, "request",
                       "the project's " EXCLUDE_FILE " has more than %d patterns; join some",
                       EXCLUDE_MAX_PATTERNS);
    if (exclude_check("in the project's " EXCLUDE_FILE ",", pattern, err) < 0)
        return err->code;
    return string_list_add(&rules->ignored, line, err);
}

int exclude_read(struct exclude *rules, const char *text, size_t len, sbr_error *err)
{
    for (const char *line = text, *end = text + len; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t n = stop ? (size_t)(stop - line) : (size_t)(end - line);
        scoped_free char *copy = strndup(line, line_len(line, n));

        if (!copy)
            return err_set_oom(err, "request");
        if (take_line(rules, copy, err) < 0)
            return err->code;
        line += n + 1;
    }
    return 0;
}

void exclude_done(struct exclude *rules)
{
    string_list_done(&rules->ignored);
}

/* A slash that is not the last character ties a pattern to the top. */
static bool is_tied(const char *pattern)
{
    const char *slash = strchr(pattern, '/');

    return slash && slash[strspn(slash, "/")];
}

static bool matches(const char *pattern, const char *path, bool is_directory, bool *ret_below)
{
    char full[REQUEST_MAX_PATH + 8], above[REQUEST_MAX_PATH + 1];
    size_t len = strlen(pattern);

    snprintf(full, sizeof(full), "%s%s", is_tied(pattern) ? "" : "**/", pattern);
    if (pattern[len - 1] != '/' || is_directory)
        return output_matches(full, path, ret_below);
    /* Only a directory above can match. */
    snprintf(above, sizeof(above), "%s", path);
    *(strrchr(above, '/') ? strrchr(above, '/') : above) = '\0';
    return *above && output_matches(full, above, ret_below);
}

static bool any_matches(const struct string_list *list, const char *path, bool is_directory)
{
    for (size_t i = 0; i < list->n; i++)
        if (matches(list->items[i], path, is_directory, NULL))
            return true;
    return false;
}

/* The last line that matches decides. */
static bool is_ignored(const struct string_list *lines, const char *path, bool is_directory)
{
    for (size_t i = lines->n; i-- > 0;) {
        const char *line = lines->items[i];

        if (matches(line + (*line == '!'), path, is_directory, NULL))
            return *line != '!';
    }
    return false;
}

bool exclude_is_included(const struct exclude *rules, const char *path, bool is_directory)
{
    return any_matches(rules->ins, path, is_directory);
}

bool exclude_reaches_below(const struct exclude *rules, const char *path)
{
    for (size_t i = 0; i < rules->ins->n; i++) {
        bool below = false;

        if (is_tied(rules->ins->items[i]) && !matches(rules->ins->items[i], path, true, &below) &&
            below)
            return true;
    }
    return false;
}

enum exclude_answer exclude_ask(const struct exclude *rules, const char *path, bool is_directory)
{
    enum exclude_answer answer = ask_secrets(path);

    if (answer != EXCLUDE_YES && (is_ignored(&rules->ignored, path, is_directory) ||
                                  any_matches(rules->outs, path, is_directory)))
        answer = EXCLUDE_YES;
    if (answer != EXCLUDE_NO && exclude_is_included(rules, path, is_directory))
        return EXCLUDE_NO;
    /* A directory has no content of its own that could make it public. */
    return is_directory && answer != EXCLUDE_YES ? EXCLUDE_NO : answer;
}

static bool has(const char *data, size_t len, const char *text)
{
    return memmem(data, len, text, strlen(text)) != NULL;
}

/* A line such as `//host/:_authToken=TOKEN`; a value ${NAME} is the name of a variable. */
static bool has_token(const char *data, size_t len)
{
    static const char *const keys[] = { "_auth", "_password", "npmAuth" };
    const char *end = data + len;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *at = data;

        while ((at = memmem(at, (size_t)(end - at), keys[i], strlen(keys[i])))) {
            while (at < end && *at != '=' && *at != ':' && *at != '\n' && *at != ' ')
                at++;
            while (at < end && (*at == '=' || *at == ':' || *at == ' ' || *at == '"'))
                at++;
            if (at < end && *at != '$' && *at != '\n')
                return true;
        }
    }
    return false;
}

bool exclude_by_content(enum exclude_answer answer, const char *data, size_t len, bool whole)
{
    if (answer == EXCLUDE_IF_TOKEN)
        return !whole || has_token(data, len);
    return !whole || !has(data, len, "-----BEGIN ") || has(data, len, "PRIVATE KEY");
}
