#include "work/function_samples.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "model/request.h"
#include "plan/language.h"
#include "work/run_alone.h"

#define FOLDER "/tmp/sandbox-run-profile-XXXXXX"
#define MOST_SAMPLES (256u << 20)

static int run(sbr_runtime *rt, const sbr_request *req, const char *folder, int stop_fd,
               sbr_error *err)
{
    struct sbr_request own = *req; /* borrows all but the list of its outputs */
    scoped_free char *spec = NULL;
    sbr_result *result = NULL;
    int r;

    if (asprintf(&spec, "%s:%s", PROFILE_FILE, folder) < 0)
        return err_set_oom(err, "profile");
    own.outputs = (struct output_rules){ 0 };
    own.profiled = true;
    r = request_add_output(&own, spec, err);
    if (r == 0)
        r = run_alone(rt, &own, stop_fd, &result, err);
    output_rules_done(&own.outputs);
    sbr_result_free(result);
    return r;
}

static int read_samples(const char *folder, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_free char *path = NULL;
    scoped_fd int fd = -1;

    if (asprintf(&path, "%s/%s", folder, PROFILE_FILE) < 0)
        return err_set_oom(err, "profile");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_set(err, SBR_E_NOT_FOUND, "profile",
                       "--functions: the program was ended before it could leave its samples; "
                       "give it more time with --timeout");
    return fd_read_text(fd, MOST_SAMPLES, ret, ret_len, err);
}

int function_samples_take(sbr_runtime *rt, const sbr_request *req, int stop_fd, char **ret,
                          size_t *ret_len, sbr_error *err)
{
    char folder[] = FOLDER;
    int r;

    if (!mkdtemp(folder))
        return err_set_errno(err, "profile", "cannot make a directory for the samples");
    r = run(rt, req, folder, stop_fd, err);
    if (r == 0)
        r = read_samples(folder, ret, ret_len, err);
    (void)tree_remove(AT_FDCWD, folder);
    return r;
}
