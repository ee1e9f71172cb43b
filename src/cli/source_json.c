/* A program that is a JSON request. */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "cli/source.h"

int source_load_request(struct options *o, struct source *source, sbr_error *err)
{
    scoped_free char *data = NULL;
    sbr_request *req = NULL;
    size_t len = 0;

    source->from_stdin = !strcmp(o->request_path, "-");
    if (source->from_stdin) {
        if (fd_read_text(STDIN_FILENO, 2 * REQUEST_MAX_BYTES, &data, &len, err) < 0)
            return err->code;
    } else if (source_read_path(o->request_path, &data, &len, err) < 0) {
        return err->code;
    }
    if (request_from_json(data, len, &req, err) < 0)
        return err->code;
    if ((o->lang && request_set_text(&req->language, o->lang, err) < 0) ||
        request_override(req, o->request, err) < 0) {
        request_free(req);
        return err->code;
    }
    request_free(o->request);
    o->request = req;
    return 0;
}
