/* verify: one verdict about files, about what is staged, or about a text. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file_replace.h"
#include "cli/verify.h"
#include "lib/runner.h"

/* clang-format off */
static const struct option own_options[] = {
    { 'l', "lang", "NAME", "the language of the code, which is on stdin without --code or a file",
      OPTION_FIELD(lang) },
    { 'c', "code", "TEXT", "the code itself", OPTION_FIELD(code) },
    { 'd', "dep",  "NAME[@VERSION]", "a package that the code needs",
      OPTION_REQUEST(request_add_dep) },
    { 0, "staged", NULL, "what is staged in git, not the working files",
      OPTION_OWN(struct verify_options, staged) },
    { 0, "commit", "REV", "the files that a commit changes, as they are in it",
      OPTION_OWN(struct verify_options, commit) },
    { 0, "since", "REV", "with --commit: all that changed after this one",
      OPTION_OWN(struct verify_options, since) },
    { 0, "call", "LINE", "a line that has to be true, as 'f(2, 3) == 5'; repeatable",
      OPTION_OWN(struct verify_options, calls) },
    { 0, "skip", "CHECK",
      "leave out syntax, types, lint, tests, golden, examples or calls; repeatable",
      OPTION_OWN(struct verify_options, skips), .word = verify_check_word },
    { 0, "write", "FILE", "write the code to FILE when its checks pass",
      OPTION_OWN(struct verify_options, write) },
    { 'y', "yes", NULL, "write without asking", OPTION_OWN(struct verify_options, yes) },
    { 0, "install-hook", NULL, "let git call it: pre-commit, or the hook that follows",
      OPTION_OWN(struct verify_options, install_hook) },
    { 0 },
};
/* clang-format on */

static int check_skips(const struct verify_options *own, sbr_error *err)
{
    for (size_t i = 0; i < own->skips.n; i++) {
        size_t k = 0;

        while (verify_check_word(k) && strcmp(verify_check_word(k), own->skips.items[i]) != 0)
            k++;
        if (!verify_check_word(k))
            return err_set(
                err, SBR_E_INVALID, "options",
                "--skip '%.40s' is none of syntax, types, lint, tests, golden, examples and "
                "calls",
                own->skips.items[i]);
    }
    return 0;
}

/* Asked before anything runs: the answer of a script is known by then. */
static int check_write(const struct verify_options *own, sbr_error *err)
{
    if (!own->write || own->yes || (isatty(STDIN_FILENO) && isatty(STDERR_FILENO)))
        return 0;
    return err_set(err, SBR_E_INVALID, "options",
                   "--write asks before it writes, and there is no terminal; --yes answers it");
}

static bool agrees(const struct verify_options *own)
{
    char line[16] = "";

    if (own->yes)
        return true;
    fprintf(stderr, "the checks passed; write '%s'? [y/N] ", own->write);
    fflush(stderr);
    if (!fgets(line, sizeof(line), stdin))
        fputc('\n', stderr);
    return line[0] == 'y' || line[0] == 'Y';
}

static int write_file(struct verification *v, sbr_error *err)
{
    if (!v->own->write || !verify_passed(v) || !agrees(v->own))
        return 0;
    if (file_replace(v->own->write, v->files[0].data, v->files[0].len, err) < 0)
        return err->code;
    v->written = v->own->write;
    return 0;
}

static int verify_run(struct options *o)
{
    struct verification v = { .o = o, .own = o->own };
    sbr_error err;
    int status;

    if (v.own->install_hook)
        return git_hook_install(o);
    if (check_skips(v.own, &err) < 0 || check_write(v.own, &err) < 0 ||
        verify_collect(&v, &err) < 0 || runner_open(RUNNER_LONG, o->cold, &v.rt, &err) < 0 ||
        verify_run_steps(&v, &err) < 0 || write_file(&v, &err) < 0) {
        status = cli_fail(o, &err);
    } else {
        verify_print(&v);
        status = verify_passed(&v) ? 0 : 1;
    }
    verify_steps_done(&v);
    verify_files_done(&v);
    sbr_runtime_close(v.rt);
    return status;
}

const struct command cmd_verify = {
    .name = "verify",
    .usage = "[OPTIONS] [FILE...]    or    verify --install-hook [pre-commit | pre-push]",
    .help = "check code in the sandbox: syntax, types, lint, tests, examples; one verdict",
    .examples =
        "Examples:\n"
        "  sandbox-run verify                     the project of this directory\n"
        "  sandbox-run verify src/a.py            a file, in its project\n"
        "  sandbox-run verify --staged            what `git commit` would take\n"
        "  sandbox-run verify -l python --call 'f(2, 3) == 5' < code.py\n"
        "  generate | sandbox-run verify -l python --write src/f.py --yes\n"
        "  sandbox-run verify --install-hook      git calls it before each commit\n\n"
        "The project is copy-on-write: nothing in it changes.  The status is 0 when every check "
        "passed,\n1 when one failed.\n",
    .own_size = sizeof(struct verify_options),
    .options =
        (const struct option *const[]){ own_options, options_trees, options_network,
                                        options_isolation, options_json, options_max_chars,
                                        options_config, options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = verify_run,
};
