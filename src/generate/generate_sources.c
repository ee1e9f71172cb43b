/* What a policy that is read at run time needs: numbers of calls, and what it can extend. */
#include <stdlib.h>
#include <string.h>

#include "generate/c_text.h"

#define NAMES_MAX (4 * CALLS_MAX)
#define TEXT_MAX (1 << 20)

static int write_calls(FILE *out, const struct arch *arch, sbr_error *err)
{
    scoped_free char **names = calloc(NAMES_MAX, sizeof(*names));
    size_t n;

    if (!names)
        return err_set_oom(err, "compile");
    n = calls_names(names, NAMES_MAX);
    fputs("\nconst struct call_row call_table[] = {\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "    { \"%s\", %d },\n", names[i], call_number(arch, names[i]));
        free(names[i]);
    }
    fprintf(out, "};\nconst size_t call_table_len = %zu;\n", n);
    return 0;
}

/* The name of the policy is that of its file. */
static int write_source(FILE *out, const char *path, sbr_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    scoped_free char *text = calloc(1, TEXT_MAX);
    FILE *file = fopen(path, "re");
    size_t len = file && text ? fread(text, 1, TEXT_MAX - 1, file) : 0;

    if (file)
        fclose(file);
    if (!len)
        return err_set_errno(err, "compile", "%s: cannot be read", path);
    fprintf(out, "    { \"%.*s\", ", (int)strcspn(name, "."), name);
    c_text_string(out, text);
    fputs(" },\n", out);
    return 0;
}

int generate_sources(FILE *out, const char *arch_name, char *const *paths, sbr_error *err)
{
    const struct arch *arch = calls_find_arch(arch_name);
    int r;

    if (!arch)
        return err_set(err, SBR_E_INVALID, "compile", "architecture '%s' is not known", arch_name);
    fputs("/* Made by sandbox-run-generate from policies/: edit those files instead. */\n"
          "#include \"plan/calls.h\"\n#include \"plan/policy_own.h\"\n",
          out);
    r = write_calls(out, arch, err);
    fputs("\nconst struct policy_source policy_sources[] = {\n", out);
    for (; r == 0 && *paths; paths++)
        r = write_source(out, *paths, err);
    fputs("    { NULL, NULL },\n};\n", out);
    return r;
}
