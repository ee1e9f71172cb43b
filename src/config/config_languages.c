/* Languages of the user's configuration: files of one's own, and other binaries of shipped ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "plan/language.h"
#include "plan/language_file.h"

static int entry_fault(const struct config *config, const char *name, const char *why,
                       sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "config", "%s: in 'languages': '%.100s' %s",
                   config->path[CONFIG_OF_USER], name, why);
}

static int use_binary(const struct config *config, const struct config_language *entry,
                      const struct language *language, sbr_error *err)
{
    scoped_free char *path = config_value_path(config, entry->binary);

    if (!path)
        return err_set_oom(err, "config");
    if (access(path, X_OK) < 0)
        return entry_fault(config, path, "is no program on this machine; correct the path", err);
    return language_file_add_binary(language, path, err);
}

static int add_entry(const struct config *config, const struct config_language *entry,
                     sbr_error *err)
{
    const char *shown = entry->file ? entry->file : entry->name ? entry->name : "-";
    const struct language *language = NULL;

    if (entry->file) {
        scoped_free char *path = config_value_path(config, entry->file);

        if (entry->name || entry->binary || entry->version)
            return entry_fault(config, shown, "is a file; give 'name' in an entry of its own", err);
        return path ? language_file_add(path, err) : err_set_oom(err, "config");
    }
    if (!entry->name || (!entry->binary && !entry->version))
        return entry_fault(config, shown, "needs 'file', or 'name' with 'binary' or 'version'",
                           err);
    if (language_resolve(entry->name, &language, err) < 0)
        return err->code;
    return entry->binary ? use_binary(config, entry, language, err) : 0;
}

int config_add_languages(const struct config *config, sbr_error *err)
{
    for (unsigned int i = 0; config->user && i < config->user->n_languages; i++)
        if (add_entry(config, &config->user->languages[i], err) < 0)
            return err->code;
    return 0;
}
