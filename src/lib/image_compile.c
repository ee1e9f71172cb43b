#include "lib/image_making.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "image/image_manifest.h"
#include "lib/tool_job.h"

#define MEMORY ((uint64_t)2 << 30)
#define DISK ((uint64_t)4 << 30)
#define INODES 1000000

extern const unsigned char bytecode_script_image_start[], bytecode_script_image_end[];

/* -S and -s: none of its modules is imported before it is compiled. */
static const char *const words[] = { "/usr/bin/python3",  "-B", "-s", "-S", "-W", "ignore",
                                     "/work/bytecode.py", NULL };

static int make_request(const struct image_making *making, const struct image_making *out,
                        sbr_request **ret, sbr_error *err)
{
    if (tool_job_request(words, ret, err) < 0 || request_set_image(*ret, making->tree, err) < 0 ||
        request_add_env(*ret, "PYTHONHASHSEED=0", err) < 0 ||
        request_add_file(*ret, "bytecode.py", (const char *)bytecode_script_image_start,
                         (size_t)(bytecode_script_image_end - bytecode_script_image_start),
                         err) < 0 ||
        tool_job_add_volume(*ret, out->tree, "/out", VOLUME_RW, err) < 0)
        return err->code;
    (*ret)->limits.value[SBR_MEMORY_BYTES] = MEMORY;
    (*ret)->limits.value[SBR_DISK_BYTES] = DISK;
    (*ret)->limits.value[SBR_INODES] = INODES;
    (*ret)->limits.value[SBR_CPU_MS] = LIMIT_NONE;
    return 0;
}

static int refuse(const sbr_result *result, sbr_error *err)
{
    const struct output *said = &result->err;
    char shown[300] = "";

    if (said->data && said->len)
        text_copy_visibly(shown, sizeof(shown), said->data, strcspn(said->data, "\n"));
    return err_set(err, SBR_E_INVALID, "build",
                   "the Python of the image cannot compile its modules: %.300s",
                   shown[0] ? shown : result->explanation);
}

static int run(const sbr_runtime *rt, const struct image_making *making,
               const struct image_making *out, sbr_error *err)
{
    struct tool_job tool = { .rt = rt,
                             .options = { .keep_output = true, .stdin_fd = -1 },
                             .writes_own = true };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = make_request(making, out, &req, err);

    if (r == 0)
        r = tool_job_run(&tool, req, &result, err);
    if (r == 0 && !result_success(result))
        r = refuse(result, err);
    result_free(result);
    request_free(req);
    return r;
}

int image_compile(const sbr_runtime *rt, const struct image_making *making, sbr_error *err)
{
    struct image_making out;
    int r;

    if (faccessat(making->tree_fd, "usr/bin/python3", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    /* A tree of its own: what a sandbox shows copy-on-write cannot be written to beside it. */
    if (image_making_begin(making->root, &out, err) < 0)
        return err->code;
    r = run(rt, making, &out, err);
    if (r == 0)
        r = image_merge(out.tree_fd, making->tree_fd, err);
    image_making_done(&out);
    return r;
}
