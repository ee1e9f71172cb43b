#include "cli/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/documents.h"
#include "plan/language.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* --lang, then the #! line, as the kernel would, then the name. */
static int choose_language(struct options *o, const char *path, const char *text, size_t len,
                           sbr_error *err)
{
    const struct language *language = NULL;

    if (o->lang)
        return request_set_text(&o->request->language, o->lang, err);
    if (len > 2 && !strncmp(text, "#!", 2))
        language = language_for_shebang(text, len);
    if (!language && path)
        language = language_for_extension(path);
    if (!language)
        return err_set(err, SBR_E_INVALID, "language",
                       "cannot tell the language of '%.200s'; name it with --lang",
                       path ? path : "stdin");
    return request_set_text(&o->request->language, language->name, err);
}

struct program {
    const char *inside; /* its path in the project; NULL: the request brings it */
    const char *name;
    const char *data;
    size_t len;
};

/* The project's file of the same name stays visible. */
static int add_named(struct options *o, const char *name, const struct program *program,
                     sbr_error *err)
{
    scoped_free char *free_name = NULL;

    if (source_free_name(o, name, &free_name, err) < 0)
        return err->code;
    if (strcmp(free_name, name) != 0 && !o->quiet)
        fprintf(stderr, "sandbox-run: the project has a '%s' of its own, so yours is '%s' inside\n",
                name, free_name);
    return request_add_file(o->request, free_name, program->data, program->len, err);
}

/* A harness around a file of the project makes a new program beside that file. */
static int add_program(struct options *o, const struct program *program, sbr_error *err)
{
    if (program->inside && o->template)
        return request_set_code(o->request, program->data, program->len, err);
    if (program->inside)
        return request_set_program(o->request, program->inside, err);
    return add_named(o, program->name, program, err);
}

/* A program that is machine code runs as it is. */
static int load_native(struct options *o, const struct program *program, sbr_error *err)
{
    scoped_free char *command = NULL;

    if (!program->inside) {
        if (add_named(o, program->name, program, err) < 0)
            return err->code;
        o->request->files[0].executable = true;
    }
    if (asprintf(&command, "/work/%s",
                 program->inside ? program->inside : o->request->files[0].path) < 0)
        return err_set_oom(err, "program");
    return request_add_arg(o->request, command, err);
}

/* The directory, for hints about its other files. */
static int set_origin(struct options *o, const char *path, sbr_error *err)
{
    size_t len = (size_t)(base_name(path) - path);
    scoped_free char *dir = len > 1 ? strndup(path, len - 1) : strdup(len ? "/" : ".");

    return dir ? request_set_text(&o->request->origin, dir, err) : err_set_oom(err, "program");
}

static int load_file(struct options *o, const char *path, sbr_error *err)
{
    struct program program = { .name = base_name(path) };
    scoped_free char *data = NULL, *inside = NULL;

    if (source_in_project(o, path, &inside, err) < 0 ||
        source_read_path(path, &data, &program.len, err) < 0 ||
        (!inside && set_origin(o, path, err) < 0))
        return err->code;
    program.inside = inside;
    program.data = data;
    if (!o->lang && program.len > 4 && !memcmp(data, "\177ELF", 4))
        return load_native(o, &program, err);
    if (choose_language(o, path, data, program.len, err) < 0)
        return err->code;
    return add_program(o, &program, err);
}

static int load_directory(struct options *o, const char *path, sbr_error *err)
{
    scoped_free char *inside = NULL;
    int r = source_in_project(o, path, &inside, err);

    if (r < 0)
        return r;
    return r ? source_find_main(o, inside, err) : source_load_directory(o, path, err);
}

static int load_stdin(struct options *o, struct source *source, sbr_error *err)
{
    scoped_free char *data = NULL;
    size_t len = 0;

    if (isatty(STDIN_FILENO) && !o->quiet)
        fputs("sandbox-run: type the program; Ctrl-D ends it\n", stderr);
    if (fd_read_text(STDIN_FILENO, REQUEST_MAX_BYTES, &data, &len, err) < 0)
        return err->code;
    source->from_stdin = true;
    if (choose_language(o, NULL, data, len, err) < 0)
        return err->code;
    return request_set_code(o->request, data, len, err);
}

/* Arguments of the program: the words behind its name, then what follows "--". */
static int add_args(struct options *o, sbr_error *err)
{
    for (size_t i = 1; i < o->n_positional; i++)
        if (request_add_arg(o->request, o->positional[i], err) < 0)
            return err->code;
    for (char **arg = o->rest; arg && *arg; arg++)
        if (request_add_arg(o->request, *arg, err) < 0)
            return err->code;
    return 0;
}

/* The first positional word, or the first behind "--" when nothing else names a program: so does
 * `#!/usr/bin/env -S sandbox-run --lang python --` call us. */
static const char *program_word(struct options *o)
{
    if (o->n_positional)
        return o->positional[0];
    if (!o->code && !o->files.n && !o->request_path && o->rest && *o->rest)
        return *o->rest++;
    return NULL;
}

bool source_is_notebook(const struct options *o)
{
    const char *word = o->n_positional ? o->positional[0] : NULL;
    const char *dot = word && !o->code && !o->request_path ? strrchr(word, '.') : NULL;

    return dot && !strcmp(dot, ".ipynb");
}

static int refuse_terminal(const struct options *o, sbr_error *err)
{
    const struct language *language = o->lang ? language_find(o->lang) : NULL;
    bool prompts = language && language->session.run.n;

    return err_set(err, SBR_E_INVALID, "program",
                   "there is no program; give a file, --code TEXT or - to type it; "
                   "`sandbox-run %s%s` starts an interactive one",
                   prompts ? "repl " : "exec -- ", prompts ? language->name : "COMMAND");
}

/* `--lang php --code 'echo 1;'` prints its own text, and succeeds. */
static void hint_opening(const struct options *o)
{
    const struct language *language = language_find(o->lang);

    if (language && language->opening && !strstr(o->code, language->opening) && !o->quiet &&
        !o->json)
        fprintf(stderr, "sandbox-run: without '%s%s' %s prints the text instead of running it\n",
                language->opening, language->name, language->name);
}

static int load_program(struct options *o, struct source *source, const char *word, sbr_error *err)
{
    scoped_free char *in_project = NULL;
    struct stat st;

    if (o->request_path)
        return o->documents->load_request(o, source, err);
    if (o->code) {
        if (!o->lang)
            return err_set(err, SBR_E_INVALID, "language", "--code needs --lang NAME");
        if (request_set_text(&o->request->language, o->lang, err) < 0)
            return err->code;
        hint_opening(o);
        return request_set_code(o->request, o->code, strlen(o->code), err);
    }
    if (word && strcmp(word, "-") != 0) {
        if (source_prefer_project(o, word, &in_project, err) < 0)
            return err->code;
        word = in_project ? in_project : word;
        if (stat(word, &st) == 0 && S_ISDIR(st.st_mode))
            return load_directory(o, word, err);
        return load_file(o, word, err);
    }
    if (!word && o->files.n)
        return 0;
    if (!word && o->request->project)
        return source_find_main(o, "", err);
    if (!word && isatty(STDIN_FILENO))
        return refuse_terminal(o, err);
    return load_stdin(o, source, err);
}

static int add_extra(struct options *o, const char *path, const char *data, size_t len,
                     sbr_error *err)
{
    const char *name = base_name(path);
    scoped_free char *free_name = NULL;

    if (source_free_name(o, name, &free_name, err) < 0)
        return err->code;
    if (strcmp(free_name, name) != 0)
        return err_set(err, SBR_E_INVALID, "program",
                       "--file '%.150s' would hide the project's '%.150s'; give it another name",
                       path, name);
    return request_add_file(o->request, name, data, len, err);
}

/* --file: the first is the program unless something else is. */
static int load_extra_files(struct options *o, const char *word, bool first_is_program,
                            sbr_error *err)
{
    for (size_t i = 0; i < o->files.n; i++) {
        scoped_free char *data = NULL, *inside = NULL;
        size_t len = 0;

        if (i == 0 && first_is_program) {
            if (load_file(o, o->files.items[i], err) < 0)
                return err->code;
            continue;
        }
        if (source_in_project(o, o->files.items[i], &inside, err) < 0)
            return err->code;
        if (inside || (word && source_below(word, o->files.items[i])))
            continue; /* the project or the directory has it */
        if (source_read_path(o->files.items[i], &data, &len, err) < 0 ||
            add_extra(o, o->files.items[i], data, len, err) < 0)
            return err->code;
    }
    return 0;
}

static void make_title(const struct options *o, struct source *source, const char *word)
{
    const char *name = o->request->n_files ? o->request->files[0].path : word ? word : "";

    if (o->request->program)
        name = o->request->program;
    if (o->request->code)
        name = source->from_stdin ? "stdin" : "code";
    snprintf(source->title, sizeof(source->title), "%.60s %.200s",
             o->request->language ? o->request->language : "program", name);
}

/* The word, if it is the whole program. */
static const char *single_file(const struct options *o, const char *word)
{
    const sbr_request *req = o->request;

    return word && req->n_files == 1 && !strcmp(req->files[0].path, base_name(word)) ? word : NULL;
}

int source_load(struct options *o, struct source *source, sbr_error *err)
{
    const char *word = program_word(o);

    *source = (struct source){ 0 };
    if ((word != NULL) + (o->code != NULL) + (o->request_path != NULL) > 1)
        return err_set(err, SBR_E_INVALID, "options",
                       "give the program once: a file, --code or --request");
    if (load_program(o, source, word, err) < 0 ||
        load_extra_files(o, word, !word && !o->code && !o->request_path, err) < 0 ||
        add_args(o, err) < 0 || source_add_deps(o, single_file(o, word), err) < 0 ||
        source_put_in_template(o, err) < 0)
        return err->code;
    make_title(o, source, word);
    return 0;
}
