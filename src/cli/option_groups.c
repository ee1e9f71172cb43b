/* Options that more than one command takes, as groups. */
#include "cli/env_files.h"
#include "plan/language.h"

static const char *language_word(size_t i)
{
    return language_at(i) ? language_at(i)->name : NULL;
}

/* Of two programs one would be silently left out. */
static int set_code(struct options *o, const struct option *option, const char *value,
                    sbr_error *err)
{
    (void)option;
    if (o->code)
        return err_set(err, SBR_E_INVALID, "options",
                       "--code is given twice; put both texts into one, with a line break between");
    o->code = value;
    return 0;
}

/* clang-format off */
const struct option options_program[] = {
    { 'l', "lang",    "NAME", "language of the program (default: from its name or its #! line)",
      OPTION_FIELD(lang), .word = language_word },
    { 'c', "code",    "TEXT", "the program itself", .set = set_code },
    { 'f', "file",    "FILE", "a file of the program; the first is its main file",
      OPTION_FIELD(files) },
    { 0,   "request", "FILE", "a whole request as JSON; - is stdin", OPTION_FIELD(request_path) },
    { 'd', "dep",     "NAME[@VERSION]",
      "a package that the program needs; installed once, then kept",
      OPTION_REQUEST(request_add_dep) },
    { 0 },
};

const struct option options_max_chars[] = {
    { 0, "max-chars", "N", "print at most so many characters, failures first; the rest is kept",
      OPTION_FIELD(max_chars) },
    { 0 },
};

const struct option options_tools[] = {
    { 'l', "lang", "NAME", "a language whose tools and packages the command finds",
      OPTION_FIELD(lang), .word = language_word },
    { 'd', "dep",  "NAME[@VERSION]", "a package for the command; needs --lang",
      OPTION_REQUEST(request_add_dep) },
    { 0 },
};

const struct option options_build[] = {
    { .fields = OF_BUILD },
    { 0, "template", "FILE", "a harness around the program: a file, or a shipped one such as call",
      OPTION_FIELD(template) },
    { 0, "set",      "K=V",  "a value for the template", OPTION_FIELD(sets) },
    { 0 },
};

const struct option options_language_file[] = {
    { 0, "language-file", "FILE", "a language of your own, or another form of one",
      OPTION_FIELD(language_files) },
    { 0 },
};

const struct option options_notebook[] = {
    { 0, "update", NULL, "of a notebook (.ipynb): write the outputs of its cells into it",
      OPTION_FIELD(update) },
    { 0, "display", NULL, "show the value of the last expression, and pictures, as `repl` does",
      OPTION_FIELD(display) },
    { 0 },
};

const struct option options_stdin[] = {
    { 'i', "stdin", "FILE", "the program's stdin; - is ours (default)", OPTION_FIELD(stdin_path) },
    { 0, "tty", NULL, "a terminal for the program (default: when stdout is one)",
      OPTION_FIELD(tty) },
    { 0, "no-tty", NULL, "pipes for the program, also at a terminal", OPTION_FIELD(no_tty) },
    { 0 },
};

const struct option options_trees[] = {
    { 'e', "env",     "NAME[=VALUE]",
      "a variable of the program's environment; without a value: ours is handed on",
      OPTION_REQUEST(env_add) },
    { 0, "env-file",  "FILE", "variables, a line each: NAME=VALUE, or NAME to hand ours on",
      OPTION_FIELD(env_files) },
    { .fields = OF_TREES },
    { 0 },
};

const struct option options_network[] = {
    { .fields = OF_NETWORK },
    { 0 },
};

const struct option options_isolation[] = {
    { .fields = OF_ISOLATION },
    { 0 },
};

const struct option options_json[] = {
    { 'j', "json", NULL, "print one JSON object instead of the program's output",
      OPTION_FIELD(json) },
    { 0 },
};

/* Of commands that run no program. */
const struct option options_report[] = {
    { 'j', "json", NULL, "print JSON instead of text", OPTION_FIELD(json) },
    { 0 },
};

const struct option options_stream[] = {
    { 0, "stream", NULL, "print what happens as lines of JSON, each at once",
      OPTION_FIELD(stream) },
    { 0, "metrics-every", "TIME", "with --stream: what the run uses, so often, as in 1s",
      OPTION_FIELD(metrics_every) },
    { 0 },
};

const struct option options_output[] = {
    { 't', "text",  NULL, "header and metrics around the output, as on a terminal",
      OPTION_FIELD(text) },
    { 'q', "quiet", NULL, "the program's output and nothing of ours", OPTION_FIELD(quiet) },
    { 0,   "raw",   NULL, "let terminal control sequences through", OPTION_FIELD(raw) },
    { 0,   "pretty", NULL, "lay out an output that is one document of JSON, though no terminal",
      OPTION_FIELD(pretty) },
    { 0,   "no-pretty", NULL, "at a terminal: documents and traces as the program writes them",
      OPTION_FIELD(no_pretty) },
    { .fields = OF_OUTPUT },
    { 0,   "cold",  NULL, "make the sandbox anew, though an engine has some ready",
      OPTION_FIELD(cold) },
    { 0 },
};

const struct option options_config[] = {
    { 0, "no-config", NULL, "read neither your configuration file nor the project's",
      OPTION_FIELD(no_config) },
    { 0 },
};

const struct option options_look[] = {
    { 0, "no-color", NULL, "no colours", OPTION_FIELD(no_color) },
    { 0, "verbose",  NULL, "report on stderr what each stage does; twice: more",
      OPTION_FIELD(verbose) },
    { 0 },
};

const struct option options_quiet[] = {
    { 'q', "quiet", NULL, "what was asked for and errors, nothing else of ours",
      OPTION_FIELD(quiet) },
    { 0 },
};

const struct option options_general[] = {
    { 'h', "help",    NULL, "this help", OPTION_FIELD(help) },
    { 'V', "version", NULL, "the version", OPTION_FIELD(version) },
    { 0 },
};
/* clang-format on */
