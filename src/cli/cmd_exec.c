#include <stdio.h>

#include "cli/cli.h"

/* --lang brings tools and --dep packages; the command stays the command. */
static int check_tools(struct options *o, sbr_error *err)
{
    if (!o->lang && o->request->deps.n)
        return err_set(err, SBR_E_INVALID, "exec",
                       "--dep needs --lang NAME: of which language are the packages?");
    o->request->command = o->lang != NULL;
    return o->lang ? request_set_text(&o->request->language, o->lang, err) : 0;
}

static int exec_run(struct options *o)
{
    char title[300];
    sbr_error err;

    if ((!o->rest || !*o->rest) && !o->request->image) {
        err_set(&err, SBR_E_INVALID, "exec",
                "there is no command; say `sandbox-run exec [OPTIONS] -- COMMAND [ARG...]`");
        return cli_fail(o, &err);
    }
    if (check_tools(o, &err) < 0)
        return cli_fail(o, &err);
    for (char **word = o->rest; word && *word; word++)
        if (request_add_arg(o->request, *word, &err) < 0)
            return cli_fail(o, &err);
    snprintf(title, sizeof(title), "%.280s",
             o->rest && o->rest[0] ? o->rest[0] : o->request->image);
    return start_request(o, title, false);
}

const struct command cmd_exec = {
    .name = "exec",
    .usage = "[OPTIONS] -- COMMAND [ARG...]",
    .help = "run any command of the sandbox's /usr",
    .examples = "Examples:\n"
                "  sandbox-run exec -- id\n"
                "  sandbox-run exec --volume .:/data -- grep -rn TODO /data\n"
                "  sandbox-run exec --project . --diff -- make clean\n"
                "  sandbox-run exec --lang python --dep pytest --project . -- pytest\n"
                "  sandbox-run exec --workspace build -- sh -c 'echo 1 >> runs; cat runs'\n",
    .options = (const struct option *const[]){ options_tools, options_stdin, options_trees,
                                               options_network, options_isolation, options_json,
                                               options_stream, options_output, options_config,
                                               options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .command_line = true,
    .run = exec_run,
};
