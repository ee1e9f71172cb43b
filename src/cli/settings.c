#include "cli/settings.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/background.h"
#include "cli/documents.h"
#include "config/retention.h"
#include "plan/policy.h"

bool settings_apply_to(const struct command *command)
{
    for (const struct option *const *group = command->options; *group; group++)
        if (*group == options_config)
            return true;
    return false;
}

/* The word that names the program, as source_load takes it. */
static const char *program_word(const struct options *o)
{
    if (o->n_positional)
        return o->positional[0];
    if (o->files.n)
        return o->files.items[0];
    return !o->code && !o->request_path && o->rest ? *o->rest : NULL;
}

static bool names_program(const struct command *command)
{
    return command->limits && !command->command_line && !command->names_language;
}

const char *settings_start(const struct options *o, char dir[CONFIG_PATH_SIZE])
{
    const char *word = names_program(o->command) ? program_word(o) : NULL;
    struct stat st;
    char *slash;

    if (o->request->project)
        return o->request->project;
    if (!word || !strcmp(word, "-") || strlen(word) >= CONFIG_PATH_SIZE)
        return "";
    snprintf(dir, CONFIG_PATH_SIZE, "%s", word);
    if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
        return dir;
    slash = strrchr(dir, '/');
    if (!slash)
        return "";
    slash[slash == dir] = '\0';
    return dir;
}

bool settings_exist(const struct options *o)
{
    char dir[CONFIG_PATH_SIZE];

    return !o->no_config && settings_apply_to(o->command) && config_exists(settings_start(o, dir));
}

bool settings_names_policy_file(const struct options *o)
{
    return o->request->policy && policy_is_file(o->request->policy);
}

void settings_retain(const struct options *o)
{
    const struct retention *wanted = o->documents ? o->documents->retention(o) : NULL;
    struct retention presets;

    if (!retention_is_due() || background_begin() != BACKGROUND_HERE)
        return;
    retention_init(&presets);
    retention_clean(wanted ? wanted : &presets);
    _exit(0);
}

int settings_apply(const struct options *o, sbr_error *err)
{
    if (!o->documents)
        return 0;
    if (o->documents->apply_config(o, err) < 0)
        return err->code;
    return o->documents->bring_image(o, err);
}
