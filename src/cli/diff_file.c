#include "cli/changesets.h"

#include <stdlib.h>
#include <string.h>

#include "model/request_save.h"

int diff_file_open(const struct options *o, struct save_file *file, sbr_error *err)
{
    scoped_save_trees struct save_trees trees = { 0 };

    if (!o->diff_path)
        return 0;
    return request_save_trees(o->request, &trees, err) < 0
               ? err->code
               : save_file_open(file, o->diff_path, &trees, err);
}

int diff_file_write(struct save_file *file, sbr_result *result, sbr_error *err)
{
    const char *text = result->diff ? result->diff : "";

    if (!file->path)
        return 0;
    if (save_file_write(file, text, strlen(text), err) < 0)
        return err->code;
    save_file_done(file);
    free(result->diff);
    result->diff = NULL;
    return 0;
}
