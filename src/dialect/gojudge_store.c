#include <stdlib.h>
#include <string.h>

#include "dialect/gojudge.h"
#include "http/server.h"

#define FILES_MAX 4096 /* of a tenant */
#define TENANT_BYTES ((size_t)256 << 20)
#define ALL_BYTES ((size_t)1 << 30)

struct used {
    size_t files, bytes, all_bytes;
};

static struct used count(const struct server *server, const struct grant *tenant)
{
    struct used used = { 0, 0, 0 };

    list_each(at, (struct link *)&server->stored) {
        const struct gojudge_file *file = link_owner(at, struct gojudge_file, link);
        bool own = !strcmp(file->tenant, tenant->name);

        used.all_bytes += file->content->len;
        used.files += own;
        used.bytes += own ? file->content->len : 0;
    }
    return used;
}

const struct gojudge_file *gojudge_store_add(struct server *server, const struct grant *tenant,
                                             const char *name, struct response_text *content)
{
    struct used used = count(server, tenant);
    struct gojudge_file *file = NULL;
    size_t len = content ? content->len : 0;

    if (content && len <= GOJUDGE_FILE_MAX && used.files < FILES_MAX &&
        used.bytes + len <= TENANT_BYTES && used.all_bytes + len <= ALL_BYTES)
        file = calloc(1, sizeof(*file));
    if (!file || encoding_random_id(file->id) < 0 || !(file->name = strdup(name))) {
        free(file);
        response_text_drop(content);
        return NULL;
    }
    file->content = content;
    memcpy(file->tenant, tenant->name, sizeof(file->tenant));
    link_init(&file->link);
    list_append(&server->stored, &file->link);
    return file;
}

struct gojudge_file *gojudge_store_find(const struct server *server, const struct grant *tenant,
                                        const char *id)
{
    list_each(at, (struct link *)&server->stored) {
        struct gojudge_file *file = link_owner(at, struct gojudge_file, link);

        if (!strcmp(file->id, id) && !strcmp(file->tenant, tenant->name))
            return file;
    }
    return NULL;
}

void gojudge_store_remove(struct gojudge_file *file)
{
    link_remove(&file->link);
    free(file->name);
    response_text_drop(file->content);
    free(file);
}

json_t *gojudge_store_list(const struct server *server, const struct grant *tenant)
{
    json_t *list = json_object();

    list_each(at, (struct link *)&server->stored) {
        const struct gojudge_file *file = link_owner(at, struct gojudge_file, link);

        if (!strcmp(file->tenant, tenant->name))
            json_object_set_new(list, file->id, translate_text(file->name, strlen(file->name)));
    }
    return list;
}

void gojudge_store_close(struct server *server)
{
    list_each(at, &server->stored)
        gojudge_store_remove(link_owner(at, struct gojudge_file, link));
}
