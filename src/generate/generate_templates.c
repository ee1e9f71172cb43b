#include <stdbool.h>
#include <string.h>

#include "generate/c_text.h"

/* The parts of .../LANGUAGE/NAME.EXTENSION.in. */
struct template_path {
    const char *language;
    const char *name;
};

/* Splits the copy of a path; false when the path has another form. */
static bool path_split(char *path, struct template_path *ret)
{
    char *name = strrchr(path, '/'), *language, *dot;

    if (!name)
        return false;
    *name++ = '\0';
    language = strrchr(path, '/');
    language = language ? language + 1 : path;
    dot = strchr(name, '.');
    if (dot)
        *dot = '\0';
    *ret = (struct template_path){ language, name };
    return *language && *name;
}

static int text_load(const char *path, char **ret, sbr_error *err)
{
    scoped_free char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    ssize_t len;
    bool whole;

    if (!file)
        return err_set_errno(err, "compile", "%s: cannot be opened", path);
    len = getdelim(&text, &size, '\0', file);
    whole = len > 0 && feof(file) && !ferror(file);
    fclose(file);
    if (!whole)
        return err_set(err, SBR_E_INVALID, "compile", "%s: is empty or has a NUL byte", path);
    *ret = take_ptr(text);
    return 0;
}

static int write_template(FILE *out, const char *path, sbr_error *err)
{
    scoped_free char *copy = strdup(path);
    scoped_free char *text = NULL;
    struct template_path parts;
    int r;

    if (!copy)
        return err_set_oom(err, "compile");
    if (!path_split(copy, &parts))
        return err_set(err, SBR_E_INVALID, "compile", "%s: is not LANGUAGE/NAME.EXTENSION.in",
                       path);
    r = text_load(path, &text, err);
    if (r < 0)
        return r;
    fputs("    { ", out);
    c_text_string(out, parts.language);
    fputs(", ", out);
    c_text_string(out, parts.name);
    fputs(", ", out);
    c_text_string(out, text);
    fputs(" },\n", out);
    return 0;
}

int generate_templates(FILE *out, const char *arch, char *const *paths, sbr_error *err)
{
    (void)arch;
    fputs("/* Made by sandbox-run-generate from templates/: edit those files instead. */\n"
          "#include \"plan/template.h\"\n\nconst struct template template_table[] = {\n",
          out);
    for (; *paths; paths++) {
        int r = write_template(out, *paths, err);

        if (r < 0)
            return r;
    }
    fputs("    { NULL, NULL, NULL },\n};\n", out);
    return 0;
}
