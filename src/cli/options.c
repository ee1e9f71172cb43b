#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/host_path.h"
#include "plan/policy.h"

#define MOST_OPTIONS 96 /* of one command, in suggestions */

static int set_limit(struct options *o, const struct option *option, const char *value,
                     sbr_error *err)
{
    enum sbr_limit which = (enum sbr_limit)(option->limit - limit_defs);

    return limits_set_text(&o->request->limits, which, value, err);
}

static struct option limit_option(size_t which)
{
    const struct limit_def *limit = &limit_defs[which];

    return (struct option){ .letter = which == SBR_MEMORY_BYTES ? 'm' : 0,
                            .name = limit->option,
                            .metavar = limit->metavar,
                            .help = limit->help,
                            .set = set_limit,
                            .limit = limit };
}

static const char *network_word(size_t i)
{
    return i < N_NETWORK_MODES ? network_mode_name((enum network_mode)i) : NULL;
}

static const char *policy_word(size_t i)
{
    return policy_at(i) ? policy_at(i)->name : NULL;
}

static const char *tier_word(size_t i)
{
    return i < N_TIERS ? request_tier_name((enum tier)i) : NULL;
}

/* The option of a field of the request. */
static struct option field_option(const struct request_field *field)
{
    static const struct {
        const char *(*word)(size_t i);
        const char *ask;
    } values[N_REQUEST_FIELDS] = {
        [FIELD_network] = { network_word, NULL },
        [FIELD_allow_hosts] = { NULL, "config --get network.allow_hosts" },
        [FIELD_policy] = { policy_word, NULL },
        [FIELD_require] = { tier_word, NULL },
    };

    return (struct option){ .letter = field->letter,
                            .name = field->option,
                            .metavar = field->metavar,
                            .help = field->help,
                            .set = option_set_field,
                            .word = values[field - request_fields].word,
                            .ask = values[field - request_fields].ask,
                            .maybe = field->maybe,
                            .field = field };
}

static bool next_of_group(struct option_walk *walk, const struct option *group, struct option *ret)
{
    for (; group[walk->row].name || group[walk->row].fields; walk->row++, walk->field = 0) {
        enum field_group fields = group[walk->row].fields;

        if (!fields) {
            *ret = group[walk->row++];
            return true;
        }
        while (walk->field < N_REQUEST_FIELDS) {
            const struct request_field *field = &request_fields[walk->field++];

            if (field->group == fields) {
                *ret = field_option(field);
                return true;
            }
        }
    }
    return false;
}

bool option_next(struct option_walk *walk, struct option *ret)
{
    const struct option *const *groups = walk->command->options;

    for (; groups[walk->group]; walk->group++, walk->row = 0)
        if (next_of_group(walk, groups[walk->group], ret))
            return true;
    for (; walk->limit < N_LIMITS; walk->limit++) {
        if (walk->command->limits >> walk->limit & 1) {
            *ret = limit_option(walk->limit++);
            return true;
        }
    }
    return false;
}

static void *field_of(struct options *o, const struct option *option)
{
    return (option->home == IN_COMMAND ? (char *)o->own : (char *)o) + option->offset;
}

int option_set_flag(struct options *o, const struct option *option, const char *value,
                    sbr_error *err)
{
    (void)value;
    (void)err;
    *(bool *)field_of(o, option) = true;
    return 0;
}

int option_set_count(struct options *o, const struct option *option, const char *value,
                     sbr_error *err)
{
    (void)value;
    (void)err;
    ++*(int *)field_of(o, option);
    return 0;
}

int option_set_text(struct options *o, const struct option *option, const char *value,
                    sbr_error *err)
{
    (void)err;
    *(const char **)field_of(o, option) = value;
    return 0;
}

int option_set_list(struct options *o, const struct option *option, const char *value,
                    sbr_error *err)
{
    struct texts *texts = field_of(o, option);
    const char **grown = realloc(texts->items, (texts->n + 1) * sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "options");
    texts->items = grown;
    grown[texts->n++] = value;
    return 0;
}

int option_set_request(struct options *o, const struct option *option, const char *value,
                       sbr_error *err)
{
    return option->request(o->request, value, err);
}

int option_set_field(struct options *o, const struct option *option, const char *value,
                     sbr_error *err)
{
    /* Paths of the host are relative to the caller's directory. */
    static int (*const made_absolute[])(const char *, char **, sbr_error *) = {
        [PATH_WHOLE] = host_path,
        [PATH_BEFORE] = host_path_before,
        [PATH_BEHIND] = host_path_behind,
        [PATH_IF_DOT] = host_path,
    };
    const struct request_field *field = option->field;
    scoped_free char *made = NULL;
    char word[64];

    if (field->kind == FIELD_SWITCH) {
        o->diff_path = value ? value : o->diff_path; /* the only one with a value is --diff */
        request_field_turn(o->request, field, true);
        return 0;
    }
    if (field->kind == FIELD_LIMITS) {
        snprintf(word, sizeof(word), "--%s", field->option);
        return limits_set_pair(request_field_at(o->request, field), word, value, err);
    }
    if (field->path && (field->path != PATH_IF_DOT || value[0] == '.' || value[0] == '/') &&
        made_absolute[field->path](value, &made, err) < 0)
        return err->code;
    return request_field_set(o->request, field, made ? made : value, err);
}

/* `len` bytes of a long name, or one letter. */
static bool find_option(const struct command *command, const char *name, size_t len, bool is_letter,
                        struct option *ret)
{
    for (struct option_walk walk = { .command = command }; option_next(&walk, ret);)
        if (is_letter ? ret->letter == *name
                      : strlen(ret->name) == len && !strncmp(ret->name, name, len))
            return true;
    return false;
}

static int unknown_option(const struct options *o, const char *word, sbr_error *err)
{
    const char *names[MOST_OPTIONS], *near;
    struct option option;
    size_t n = 0;
    char name[48];

    for (struct option_walk walk = { .command = o->command };
         n < MOST_OPTIONS && option_next(&walk, &option);)
        names[n++] = option.name;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    near = text_nearest(name, names, n);
    return err_set(err, SBR_E_INVALID, "options", "there is no option '%.60s'%s%s%s%s", word,
                   near ? "; did you mean --" : "; see --help", near ? near : "", near ? "?" : "",
                   o->command->arguments && o->n_positional
                       ? "; what is for the program comes after --"
                       : "");
}

/* --name, --name=value, --name value.  Moves *argv past what it used. */
static int parse_long(struct options *o, char ***argv, sbr_error *err)
{
    const char *word = **argv + 2, *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    struct option option;

    if (!find_option(o->command, word, len, false, &option))
        return unknown_option(o, **argv, err);
    (*argv)++;
    if (option.maybe && equals && equals[1])
        return option.set(o, &option, equals + 1, err);
    if (!option.metavar && equals)
        return err_set(err, SBR_E_INVALID, "options", "--%s takes no value%s", option.name,
                       option.maybe ? " that is empty" : "");
    if (!option.metavar)
        return option.set(o, &option, NULL, err);
    if (!equals && !**argv)
        return err_set(err, SBR_E_INVALID, "options", "--%s needs a value: --%s %s", option.name,
                       option.name, option.metavar);
    return option.set(o, &option, equals ? equals + 1 : *(*argv)++, err);
}

/* -q, -l python, -lpython, -qj. */
static int parse_short(struct options *o, char ***argv, sbr_error *err)
{
    const char *letters = **argv + 1;
    struct option option;

    /* What other programs call an interactive terminal; -i with a file `t` would be meant by no
     * user. */
    if ((!strcmp(letters, "it") || !strcmp(letters, "ti")) &&
        find_option(o->command, "tty", 3, false, &option)) {
        (*argv)++;
        return option.set(o, &option, NULL, err);
    }
    for (; *letters; letters++) {
        if (!find_option(o->command, letters, 1, true, &option))
            return unknown_option(o, **argv, err);
        if (option.metavar)
            break;
        if (option.set(o, &option, NULL, err) < 0)
            return err->code;
    }
    (*argv)++;
    if (!*letters)
        return 0;
    if (letters[1])
        return option.set(o, &option, letters + 1, err);
    if (!**argv)
        return err_set(err, SBR_E_INVALID, "options", "-%c needs a value: -%c %s", option.letter,
                       option.letter, option.metavar);
    return option.set(o, &option, *(*argv)++, err);
}

static int parse_word(struct options *o, char ***argv, sbr_error *err)
{
    char *word = **argv;

    if (!strncmp(word, "--", 2))
        return parse_long(o, argv, err);
    if (word[0] == '-' && word[1])
        return parse_short(o, argv, err);
    o->positional[o->n_positional++] = word;
    (*argv)++;
    return 0;
}

static bool find_in_any(const struct command *const *list, const char *name, size_t len,
                        bool is_letter, struct option *ret)
{
    for (; *list; list++)
        if (find_option(*list, name, len, is_letter, ret))
            return true;
    return false;
}

/* How many words an option takes, its own included; 0: it is unknown. */
static size_t words_of_option(const struct command *const *list, const char *word)
{
    struct option option;

    if (!strcmp(word, "-it") || !strcmp(word, "-ti"))
        return 1;
    if (word[1] == '-') {
        size_t len = strcspn(word + 2, "=");

        if (!find_in_any(list, word + 2, len, false, &option))
            return 0;
        return option.metavar && !word[2 + len] ? 2 : 1;
    }
    while (*++word) {
        if (!find_in_any(list, word, 1, true, &option))
            return 0;
        if (option.metavar)
            return word[1] ? 1 : 2;
    }
    return 1;
}

size_t options_first_word(const struct command *const *list, char **argv)
{
    for (size_t at = 1; argv[at];) {
        size_t n = 0;

        if (argv[at][0] != '-' || !argv[at][1])
            return at;
        if (strcmp(argv[at], "--") != 0)
            n = words_of_option(list, argv[at]);
        if (n == 0 || !argv[at + n - 1])
            return 0;
        at += n;
    }
    return 0;
}

int options_parse(struct options *o, char **argv, sbr_error *err)
{
    size_t n = 0;

    while (argv[n])
        n++;
    o->positional = calloc(n + 1, sizeof(*o->positional));
    o->own = o->command->own_size ? calloc(1, o->command->own_size) : NULL;
    if (!o->positional || (o->command->own_size && !o->own))
        return err_set_oom(err, "options");
    if (request_new(NULL, NULL, &o->request, err) < 0)
        return err->code;
    o->request->has_options = true;
    while (*argv) {
        bool is_word = **argv != '-' || !(*argv)[1];

        if (!strcmp(*argv, "--") || (o->command->command_line && is_word)) {
            o->rest = argv + !strcmp(*argv, "--");
            break;
        }
        if (parse_word(o, &argv, err) < 0)
            return err->code;
    }
    return 0;
}

void options_done(struct options *o)
{
    struct option option;

    if (!o->command)
        return;
    for (struct option_walk walk = { .command = o->command }; option_next(&walk, &option);)
        if (option.set == option_set_list && (option.home != IN_COMMAND || o->own))
            free(((struct texts *)field_of(o, &option))->items);
    request_free(o->request);
    free(o->positional);
    free(o->own);
}
