/* Options that more than one command takes, as groups. */
#include "base/scope.h"
#include "cli/env_files.h"
#include "cli/host_path.h"
#include "cli/options.h"
#include "plan/language.h"
#include "plan/policy.h"

static const char *language_word(size_t i)
{
    return language_at(i) ? language_at(i)->name : NULL;
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

static int set_policy(sbr_request *req, const char *name, sbr_error *err)
{
    return request_set_text(&req->policy, name, err);
}

static int set_require(sbr_request *req, const char *name, sbr_error *err)
{
    req->require_given = true;
    return request_tier_from_name(name, &req->require, err);
}

static int set_degraded(sbr_request *req, const char *value, sbr_error *err)
{
    (void)value;
    (void)err;
    request_set_require(req, TIER_PROCESS);
    return 0;
}

static int allow_dns(sbr_request *req, const char *value, sbr_error *err)
{
    (void)value;
    (void)err;
    request_allow_dns(req, true);
    return 0;
}

static int set_compile_limit(sbr_request *req, const char *pair, sbr_error *err)
{
    return limits_set_pair(&req->compile_limits, "--compile-limit", pair, err);
}

/* Paths of the host are relative to the caller's directory. */
static int add_volume(sbr_request *req, const char *spec, sbr_error *err)
{
    scoped_free char *made = NULL;

    return host_path_before(spec, &made, err) < 0 ? err->code : request_add_volume(req, made, err);
}

static int add_output(sbr_request *req, const char *spec, sbr_error *err)
{
    scoped_free char *made = NULL;

    return host_path_behind(spec, &made, err) < 0 ? err->code : request_add_output(req, made, err);
}

static int set_project(sbr_request *req, const char *dir, sbr_error *err)
{
    scoped_free char *made = NULL;

    return host_path(dir, &made, err) < 0 ? err->code : request_set_project(req, made, err);
}

static int set_image(sbr_request *req, const char *ref, sbr_error *err)
{
    scoped_free char *made = NULL;

    if (ref[0] != '.' && ref[0] != '/')
        return request_set_image(req, ref, err);
    return host_path(ref, &made, err) < 0 ? err->code : request_set_image(req, made, err);
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
    { 0, "check",    NULL,   "compile or check the program, but do not run it",
      OPTION_OF_REQUEST(check) },
    { 0, "buffered", NULL, "leave the buffering of stdout to the language: no line at once",
      OPTION_OF_REQUEST(buffered) },
    { 0, "template", "FILE", "a harness around the program: a file, or a shipped one such as call",
      OPTION_FIELD(template) },
    { 0, "set",      "K=V",  "a value for the template", OPTION_FIELD(sets) },
    { 0, "compile-arg", "ARG", "a further argument for the compiler",
      OPTION_REQUEST(request_add_compile_arg) },
    { 0, "compile-limit", "K=V", "a limit of the compile stage, as in memory=4g",
      OPTION_REQUEST(set_compile_limit) },
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
    { 'w', "workdir", "DIR", "where the program starts, inside (default: /work)",
      OPTION_REQUEST(request_set_workdir) },
    { 'v', "volume",  "SRC:DST[:MODE]",
      "a host file or directory at DST: ro (default), rw, or cow: changes stay inside; rw+sockets",
      OPTION_REQUEST(add_volume) },
    { 0, "backend", "NAME", "what makes the container: native, auto, oci:RUNTIME, docker, podman",
      OPTION_REQUEST(request_set_backend) },
    { 0, "image", "REF", "run on the files of an image: NAME, oci:DIR, docker-archive:FILE, ./DIR",
      OPTION_REQUEST(set_image) },
    { 0, "read-only", NULL, "the files of --image cannot be changed; /work and /tmp can",
      OPTION_OF_REQUEST(read_only) },
    { 'p', "project", "DIR", "a host directory as /work; changes stay inside",
      OPTION_REQUEST(set_project) },
    { 0, "exclude", "PATTERN",
      "leave files of --project out, besides secrets such as .env and keys; repeatable",
      OPTION_REQUEST(request_add_exclude) },
    { 0, "include", "PATTERN", "show files of --project that would be left out; repeatable",
      OPTION_REQUEST(request_add_include) },
    { 0, "workspace", "NAME", "a /work that is kept between runs; bounded by --disk and --inodes",
      OPTION_REQUEST(request_set_workspace) },
    { 0, "diff", NULL, "report what was changed in --project and cow volumes, or write it to FILE",
      .set = option_set_diff, .home = IN_REQUEST, .offset = offsetof(sbr_request, diff),
      .maybe = "FILE" },
    { 0, "keep", NULL, "store what was changed under an id, for `apply`", OPTION_OF_REQUEST(keep) },
    { 'o', "output", "PATTERN[:DIR]",
      "files to copy out of /work after the run, to DIR; repeatable",
      OPTION_REQUEST(add_output) },
    { 0 },
};

const struct option options_network[] = {
    { 0, "network", "MODE", "what can be reached: none (default), localhost, allow, full",
      OPTION_REQUEST(request_set_network), .word = network_word },
    { 0, "allow-host", "HOST",
      "a name, *.name, address or range to reach, also with :PORT; repeatable",
      OPTION_REQUEST(request_allow_host), .ask = "config --get network.allow_hosts" },
    { 0, "publish", "[HOST:]PORT[:INSIDE]",
      "a port of this machine's loopback that leads to one inside; 0: any free; repeatable",
      OPTION_REQUEST(request_publish) },
    { 0, "allow-dns", NULL, "look up every name, not only those of --allow-host",
      OPTION_REQUEST(allow_dns) },
    { 0 },
};

const struct option options_isolation[] = {
    { 0, "allow-command", "NAME,...",
      "only these commands exist inside, with their libraries; for exec and shells; repeatable",
      OPTION_REQUEST(request_allow_commands) },
    { 0, "policy", "NAME", "what the program may ask of the kernel: default, strict, FILE.yaml",
      OPTION_REQUEST(set_policy), .word = policy_word },
    { 0, "require", "TIER", "least isolation: container (default), reduced, process",
      OPTION_REQUEST(set_require), .word = tier_word },
    { 0, "allow-degraded", NULL, "run even when some isolation cannot be had",
      OPTION_REQUEST(set_degraded) },
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
    { 0,   "keep-output", NULL, "keep all of it for a day under an id, for `sandbox-run output`",
      OPTION_OF_REQUEST(keep_output) },
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

const struct option options_general[] = {
    { 'h', "help",    NULL, "this help", OPTION_FIELD(help) },
    { 'V', "version", NULL, "the version", OPTION_FIELD(version) },
    { 0 },
};
/* clang-format on */
