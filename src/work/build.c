#include "work/build.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "base/text.h"
#include "model/request_save.h"
#include "work/run_alone.h"
#include "work/work_limits.h"

/* Archives have times in steps of two seconds: a second build begins later than that, so that a
 * time in an artifact shows. */
#define APART_US 2100000

/* The tool's own words come first. */
static int set_command(sbr_request *req, const struct build_tool *tool, sbr_error *err)
{
    struct string_list further = req->args;
    int r = 0;

    req->args = (struct string_list){ 0 };
    for (const char *const *word = tool->words; r == 0 && *word; word++)
        r = request_add_arg(req, *word, err);
    if (r == 0 && tool->offline && !request_has_network(req))
        r = request_add_arg(req, tool->offline, err);
    for (size_t i = 0; r == 0 && i < further.n; i++)
        r = request_add_arg(req, further.items[i], err);
    string_list_done(&further);
    req->command = req->complete = true;
    return r < 0 ? r : request_set_text(&req->language, tool->language, err);
}

/* Changes of a copy-on-write tree are kept; elsewhere the places of the tool are. */
static int set_places(sbr_request *req, const struct build_tool *tool, sbr_error *err)
{
    req->keep = !req->workspace; /* which keeps them by itself */
    if (req->project || req->workspace) {
        req->diff = true;
        return 0;
    }
    for (const char *const *place = tool->places; *place; place++) {
        size_t len = strlen(*place);
        scoped_free char *rule =
            text_format("%s%s", *place, !len || (*place)[len - 1] == '/' ? "**" : "");

        if (!rule)
            return err_set_oom(err, "build");
        if (request_add_output(req, rule, err) < 0)
            return err->code;
    }
    return 0;
}

static int check(const sbr_request *req, const sbr_build *how, sbr_error *err)
{
    if (how->struct_size != sizeof(*how))
        return err_set(err, SBR_E_INVALID, "build", "struct_size of the build is not set");
    if (req->workspace && how->twice)
        return err_set(err, SBR_E_INVALID, "build",
                       "a second build in a workspace would find what the first has left; build a "
                       "directory twice, or leave it out");
    if (req->workspace && !how->tool)
        return err_set(err, SBR_E_INVALID, "build",
                       "what a workspace has is not looked at; name its tool, as in make");
    if (!req->project && how->output_dir)
        return err_set(err, SBR_E_INVALID, "build",
                       "artifacts are copied out of a directory's build only");
    return 0;
}

static int find_tool(sbr_request *req, const sbr_build *how, const struct build_tool **ret,
                     sbr_error *err)
{
    scoped_signs struct signs signs = { .dir_fd = -1 };

    if (signs_open(&signs, req, "build", err) < 0)
        return err->code;
    return build_tool_find(&signs, how->tool, ret, err) < 0 ? err->code : 0;
}

static int add_packages(sbr_request *req, const struct build_tool *tool, sbr_error *err)
{
    scoped_signs struct signs signs = { .dir_fd = -1 };

    for (const char *const *package = tool->packages; *package; package++)
        if (request_add_dep(req, *package, err) < 0)
            return err->code;
    if (!tool->add_packages)
        return 0;
    if (signs_open(&signs, req, "build", err) < 0)
        return err->code;
    return tool->add_packages(&signs, req, err);
}

static bool has_text(const char *data, size_t len, const char *text)
{
    return len && memmem(data, len, text, strlen(text));
}

static bool lacks_tool(const struct build *b)
{
    const sbr_report *report = sbr_result_report(b->result);

    return b->tool->missing && report->exit_code != 0 &&
           (has_text(report->out, report->out_len, b->tool->missing) ||
            has_text(report->errout, report->errout_len, b->tool->missing));
}

static void drop_kept(const sbr_result *result)
{
    if (result->changes_id[0])
        (void)sbr_changes_drop(result->changes_id, NULL);
}

/* A tool that the machine does not have is installed, once, as a package. */
static int run_tool(sbr_runtime *rt, sbr_request *req, const sbr_build *how, struct build *b,
                    sbr_error *err)
{
    if (b->tool->packages && !b->tool->missing && !how->installs_nothing &&
        !request_has_network(req) && add_packages(req, b->tool, err) < 0)
        return err->code;
    if (run_alone(rt, req, how->stop_fd, &b->result, err) < 0)
        return err->code;
    if (how->installs_nothing || b->installed || !lacks_tool(b))
        return 0;
    drop_kept(b->result);
    sbr_result_free(take_ptr(b->result));
    b->installed = true;
    if (add_packages(req, b->tool, err) < 0)
        return err->code;
    return run_alone(rt, req, how->stop_fd, &b->result, err);
}

static int read_output(const sbr_result *result, struct build_messages *to, sbr_error *err)
{
    const sbr_report *report = sbr_result_report(result);

    if (build_messages_read(report->errout, report->errout_len, to, err) < 0 ||
        build_messages_read(report->errout_tail, report->errout_tail_len, to, err) < 0 ||
        build_messages_read(report->out, report->out_len, to, err) < 0)
        return err->code;
    return build_messages_read(report->out_tail, report->out_tail_len, to, err);
}

/* Waits until the time of the first build has passed; a caller that stops ends the wait. */
static void wait_apart(uint64_t since_us, int stop_fd)
{
    struct pollfd stop = { .fd = stop_fd ? stop_fd : -1, .events = POLLIN };
    uint64_t now = clock_now_us();

    if (now - since_us < APART_US)
        (void)poll(&stop, 1, (int)((APART_US - (now - since_us)) / 1000 + 1));
}

static int build_again(sbr_runtime *rt, sbr_request *req, const sbr_build *how, struct build *b,
                       sbr_error *err)
{
    struct build_artifacts second = { 0 };
    sbr_result *result = NULL;
    const char *differs;
    int r = run_alone(rt, req, how->stop_fd, &result, err);

    if (r == 0)
        r = build_artifacts_read(b->tool, req, result, &second, err);
    if (r == 0) {
        differs = build_artifacts_differ(&b->artifacts, &second);
        b->compared = true;
        b->differs = differs ? strdup(differs) : NULL;
        if (differs && !b->differs)
            r = err_set_oom(err, "build");
    }
    if (result)
        drop_kept(result);
    sbr_result_free(result);
    build_artifacts_done(&second);
    return r;
}

/* A failed build leaves nothing to apply, and what was copied out need not be kept. */
static void settle(struct build *b, bool keep, bool diff)
{
    if (!keep) {
        drop_kept(b->result);
        b->result->changes_id[0] = '\0';
    }
    if (!diff && b->result->changes) {
        changes_done(b->result->changes);
        free(take_ptr(b->result->changes));
    }
}

static int build_once(sbr_runtime *rt, sbr_request *req, const sbr_build *how, struct build *b,
                      sbr_error *err)
{
    scoped_save_trees struct save_trees trees = { 0 };
    uint64_t began = clock_now_us();

    if (request_save_trees(req, &trees, err) < 0 || run_tool(rt, req, how, b, err) < 0 ||
        read_output(b->result, &b->messages, err) < 0 ||
        build_artifacts_read(b->tool, req, b->result, &b->artifacts, err) < 0)
        return err->code;
    if (!result_success(b->result))
        return 0;
    if (how->output_dir && build_artifacts_copy(&b->artifacts, how->output_dir, &trees, err) < 0)
        return err->code;
    if (!how->twice)
        return 0;
    wait_apart(began, how->stop_fd);
    return build_again(rt, req, how, b, err);
}

int build_run(sbr_runtime *rt, sbr_request *req, const sbr_build *how, struct build *ret,
              sbr_error *err)
{
    bool keep = req->keep, diff = req->diff;
    struct build b = { 0 };
    int r = check(req, how, err);

    if (r == 0)
        r = find_tool(req, how, &b.tool, err);
    if (r == 0 && (work_limits_set(&req->limits, err) < 0 || set_command(req, b.tool, err) < 0 ||
                   set_places(req, b.tool, err) < 0))
        r = err->code;
    if (r == 0)
        r = build_once(rt, req, how, &b, err);
    if (b.result)
        settle(&b, r == 0 && (keep || (result_success(b.result) && !how->output_dir)), diff);
    if (r < 0)
        build_done(&b);
    else
        *ret = b;
    return r;
}

void build_done(struct build *build)
{
    sbr_result_free(build->result);
    build_messages_done(&build->messages);
    build_artifacts_done(&build->artifacts);
    free(build->differs);
    *build = (struct build){ 0 };
}

bool build_succeeded(const struct build *build)
{
    return result_success(build->result) && !build->differs;
}

static void put_summary(struct jsonw *j, const struct build *build)
{
    jsonw_open(j, "summary", '{');
    jsonw_number(j, "errors", build_messages_count(&build->messages, MESSAGE_ERROR));
    jsonw_number(j, "warnings", build_messages_count(&build->messages, MESSAGE_WARNING));
    jsonw_number(j, "notes", build_messages_count(&build->messages, MESSAGE_NOTE));
    jsonw_number(j, "messages_dropped", build->messages.dropped);
    jsonw_number(j, "artifacts", build->artifacts.n);
    jsonw_close(j, '}');
}

char *build_to_json(const struct build *build)
{
    scoped_free char *run = sbr_result_to_json(build->result);
    struct jsonw j;

    if (!run)
        return NULL;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "tool", build->tool->name);
    put_summary(&j, build);
    build_messages_put_json(&j, "messages", &build->messages);
    build_artifacts_put_json(&j, "artifacts", &build->artifacts);
    if (build->compared)
        jsonw_bool(&j, "reproducible", !build->differs);
    else
        jsonw_null(&j, "reproducible");
    if (build->differs)
        jsonw_path(&j, "first_difference", build->differs);
    else
        jsonw_null(&j, "first_difference");
    buf_add_text(&j.out, ",");
    buf_add_text(&j.out, run + 1);
    return jsonw_take(&j);
}

int sbr_build_run(sbr_runtime *rt, sbr_request *req, const sbr_build *how, char **ret,
                  sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct build build;
    int r;

    if (!rt || !req || !how || !ret)
        return err_set(e, SBR_E_INVALID, "build", "an argument is missing");
    r = build_run(rt, req, how, &build, e);
    if (r < 0)
        return r;
    *ret = build_to_json(&build);
    build_done(&build);
    return *ret ? 0 : err_set_oom(e, "build");
}
