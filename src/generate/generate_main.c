/* sandbox-run-generate: turns policies/, languages/ and templates/ into C tables at build time,
 * and the table of a request's fields into JSON.
 *
 *   Should:  refuse everything it does not fully understand, in one sentence with file and line.
 *   Mustn't: leave an output behind when it fails; run on the machines that use the result. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "generate/c_text.h"

struct command {
    const char *name;
    const char *usage;
    bool has_arch;
    bool has_files;
    int (*run)(FILE *out, const char *arch, char *const *paths, sbr_error *err);
};

static const struct command commands[] = {
    { "policies", "ARCH OUT.c FILE.yaml...", true, true, generate_policies },
    { "sources", "ARCH OUT.c FILE.yaml...", true, true, generate_sources },
    { "languages", "OUT.c FILE.yaml...", false, true, generate_languages },
    { "netlink", "OUT.c", false, false, generate_netlink },
    { "request", "OUT.json", false, false, generate_request },
    { "tools", "OUT.json TOOLS.json", false, true, generate_tools },
    { "templates", "OUT.c LANGUAGE/NAME.EXTENSION.in...", false, true, generate_templates },
};

static int usage(void)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(stderr, "%s sandbox-run-generate %s %s\n", i == 0 ? "usage:" : "      ",
                commands[i].name, commands[i].usage);
    return 2;
}

/* Makes the whole text in memory before it touches the output. */
static int command_run(const struct command *command, char *const *args, sbr_error *err)
{
    scoped_free char *text = NULL;
    size_t len = 0;
    const char *arch = command->has_arch ? *args++ : NULL;
    const char *path = *args++;
    FILE *out = open_memstream(&text, &len);
    int r;

    if (!out)
        return err_set_oom(err, "compile");
    r = command->run(out, arch, args, err);
    if (fclose(out) != 0 && r == 0)
        r = err_set_oom(err, "compile");
    return r < 0 ? r : c_text_save(path, text, len, err);
}

int main(int argc, char **argv)
{
    sbr_error err;

    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(commands); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        if (argc < 3 + commands[i].has_arch + commands[i].has_files)
            return usage();
        if (command_run(&commands[i], argv + 2, &err) == 0)
            return 0;
        fprintf(stderr, "sandbox-run-generate: %s\n", err.message);
        return 1;
    }
    return usage();
}
