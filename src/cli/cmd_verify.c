/* verify: one verdict about files, about what is staged, or about a text. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "changes/given_trees.h"
#include "cli/cmd_test.h"
#include "cli/cmd_verify.h"
#include "cli/host_path.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "lib/runner.h"
#include "model/request_save.h"

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

/* The code may be on stdin, so the answer comes from the terminal itself. */
static int open_terminal(void)
{
    return open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* Asked before anything runs: the answer of a script is known by then. */
static int check_write(const struct verify_options *own, sbr_error *err)
{
    scoped_fd int terminal = own->write && !own->yes ? open_terminal() : -1;

    if (!own->write || own->yes || (terminal >= 0 && isatty(STDERR_FILENO)))
        return 0;
    return err_set(err, SBR_E_INVALID, "options",
                   "--write asks before it writes, and there is no terminal; --yes answers it");
}

static bool agrees(const struct verify_options *own)
{
    scoped_fd int terminal = own->yes ? -1 : open_terminal();
    char line[16] = "";

    if (own->yes)
        return true;
    fflush(stdout);
    fprintf(stderr, "the checks passed; write '%s'? [y/N] ", own->write);
    fflush(stderr);
    if (read(terminal, line, sizeof(line) - 1) <= 0)
        fputc('\n', stderr);
    return line[0] == 'y' || line[0] == 'Y';
}

/* Each repository whose directory the path names: a link of one leads out of it, so where the path
 * ends does not say whose link it went through. */
static int add_repositories(const char *path, struct save_trees *trees, sbr_error *err)
{
    scoped_free char *whole = NULL;
    int r = host_path_unresolved(path, &whole, err);

    for (char *slash = r < 0 ? NULL : strchr(whole + 1, '/'); r == 0 && slash;
         slash = strchr(slash + 1, '/')) {
        scoped_free char *sign = NULL;

        *slash = '\0';
        sign = text_format("%s/.git", whole);
        if (!sign)
            r = err_set_oom(err, "verify");
        else if (access(sign, F_OK) == 0)
            r = save_trees_add(trees, whole, false, err);
        *slash = '/';
    }
    return r;
}

/* The directory is held while the checks run.  Links of the project are its author's, not the
 * caller's. */
static int open_write(struct verify_input *in, sbr_error *err)
{
    scoped_save_trees struct save_trees trees = { .meant = true };

    if (!in->own->write)
        return 0;
    if ((in->project[0] && save_trees_add(&trees, in->project, false, err) < 0) ||
        add_repositories(in->own->write, &trees, err) < 0 ||
        request_save_trees(in->o->request, &trees, err) < 0 ||
        given_trees_find(NULL, &trees, err) < 0)
        return err->code;
    return save_file_open(&in->write, in->own->write, &trees, err);
}

/* The code is the first file of the request. */
static int write_file(struct verify_input *in, const struct verification *v, const char **written,
                      sbr_error *err)
{
    const struct request_file *code = in->o->request->files;

    if (!in->own->write || !verify_passed(v) || !agrees(in->own))
        return 0;
    if (save_file_write(&in->write, code->data, code->len, err) < 0)
        return err->code;
    *written = in->own->write;
    return 0;
}

/* Who is asked has read the report; an object of JSON says itself whether it was written. */
static int report_and_write(struct verify_input *in, const struct verification *v, sbr_error *err)
{
    const char *written = NULL;

    if (!in->o->json)
        verify_report_print(in->o, v, NULL);
    if (write_file(in, v, &written, err) < 0)
        return err->code;
    if (in->o->json) {
        verify_report_print(in->o, v, written);
    } else if (written && !in->o->quiet) {
        fputs("written: ", stdout);
        present_name(stdout, written);
        putchar('\n');
    }
    return 0;
}

/* The configuration of the user and of the project, which may depend on the language. */
static int complete(void *context, sbr_request *req, sbr_error *err)
{
    const struct verify_input *in = context;
    struct options as = *in->o;

    as.request = req;
    return settings_apply(&as, err);
}

/* As the library has them: NULL-terminated. */
static const char **words_of(const struct texts *texts)
{
    const char **words = calloc(texts->n + 1, sizeof(*words));

    for (size_t i = 0; words && i < texts->n; i++)
        words[i] = texts->items[i];
    return words;
}

static int run_checks(struct verify_input *in, sbr_runtime *rt, struct verification *v,
                      sbr_error *err)
{
    static const char *const none[] = { NULL };
    scoped_free const char **calls = words_of(&in->own->calls), **skips = words_of(&in->own->skips);
    const struct verify_hooks hooks = { complete, in->o->quiet ? NULL : cmd_test_installs, in };
    const sbr_verify how = { .struct_size = sizeof(how),
                             .files = in->files.n ? (const char *const *)in->files.items : none,
                             .calls = calls,
                             .skip = skips };

    if (!calls || !skips)
        return err_set_oom(err, "verify");
    return verify_run(rt, in->o->request, &how, &hooks, v, err);
}

static int open_runtime(struct verify_input *in, sbr_runtime **ret, sbr_error *err)
{
    int r = runner_open(RUNNER_LONG, in->o->cold, ret, err);

    in->rt = *ret;
    return r;
}

static int verify_command(struct options *o)
{
    struct verify_input in = { .o = o, .own = o->own, .write = SAVE_FILE_NONE };
    struct verification v = { .tree = { .fd = -1 } };
    sbr_runtime *rt = NULL;
    sbr_error err;
    int status;

    if (in.own->install_hook)
        return git_hook_install(o);
    if (check_write(in.own, &err) < 0 || open_runtime(&in, &rt, &err) < 0 ||
        verify_files_collect(&in, &err) < 0 || open_write(&in, &err) < 0 ||
        run_checks(&in, rt, &v, &err) < 0 || report_and_write(&in, &v, &err) < 0) {
        status = cli_fail(o, &err);
    } else {
        status = verify_passed(&v) ? 0 : 1;
    }
    verify_done(&v);
    string_list_done(&in.files);
    save_file_done(&in.write);
    sbr_runtime_close(rt);
    return status;
}

const struct command cmd_verify = {
    .name = "verify",
    .usage = "[OPTIONS] [DIR | FILE...]    or    verify --install-hook [pre-commit | pre-push]",
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
        "passed,\n1 when one failed.  Limits of tools and tests that are not given are larger than "
        "below:\n10m, 4g of memory, 512 processes, 4g of disk.\n",
    .own_size = sizeof(struct verify_options),
    .options = (const struct option *const[]){ own_options, options_trees, options_network,
                                               options_isolation, options_json, options_max_chars,
                                               options_config, options_look, options_quiet,
                                               options_general, NULL },
    .limits = LIMITS_ALL,
    .run = verify_command,
};
