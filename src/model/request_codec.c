#include "model/request.h"

#include <stdlib.h>
#include <string.h>

#include "model/request_fields.h"

/* A member that points somewhere is a row of request_fields.def, or one of the four below. */
static bool is_list(const struct request_field *field)
{
    return field->kind == FIELD_LIST || field->kind == FIELD_PAIRS;
}

static void put_list(struct buf *out, const struct string_list *list)
{
    buf_put_u32(out, (uint32_t)list->n);
    for (size_t i = 0; i < list->n; i++)
        buf_put_string(out, list->items[i]);
}

void request_codec_encode(const sbr_request *req, struct buf *out)
{
    buf_put_bytes(out, req, sizeof(*req));
    for (const struct request_field *field = request_fields; field->size; field++) {
        char **at = request_field_at(req, field);

        if (field->kind == FIELD_TEXT)
            buf_put_string(out, *at);
        else if (field->kind == FIELD_BYTES)
            buf_put_bytes(out, *at, *(size_t *)(at + 1));
        else if (is_list(field))
            put_list(out, request_field_at(req, field));
    }
    for (size_t i = 0; i < req->n_files; i++) {
        buf_put_string(out, req->files[i].path);
        buf_put_bytes(out, req->files[i].data, req->files[i].len);
        buf_put_u32(out, req->files[i].executable);
    }
    for (size_t i = 0; i < req->n_volumes; i++) {
        buf_put_string(out, req->volumes[i].source);
        buf_put_string(out, req->volumes[i].target);
        buf_put_u32(out, (uint32_t)req->volumes[i].mode);
        buf_put_u32(out, req->volumes[i].sockets);
    }
    for (size_t i = 0; i < req->outputs.n; i++) {
        buf_put_string(out, req->outputs.items[i].pattern);
        buf_put_string(out, req->outputs.items[i].dir);
    }
    buf_put_bytes(out, req->network.rules, req->network.n_rules * sizeof(*req->network.rules));
    secrets_encode(&req->secrets, out);
}

static char *take_text(struct buf_reader *in)
{
    const char *text = buf_reader_string(in);
    char *copy = text ? strdup(text) : NULL;

    in->failed |= text && !copy;
    return copy;
}

/* With a NUL behind, as all bytes of a request have. */
static char *take_bytes(struct buf_reader *in, size_t len, bool wanted)
{
    size_t n;
    const void *data = buf_reader_bytes(in, &n);
    char *copy = wanted && data && n == len ? malloc(len + 1) : NULL;

    in->failed |= wanted && !copy;
    if (copy) {
        memcpy(copy, data, len);
        copy[len] = '\0';
    }
    return copy;
}

static void take_list(struct buf_reader *in, struct string_list *list)
{
    uint32_t n = buf_reader_count(in);
    sbr_error ignored; /* in->failed says it */

    *list = (struct string_list){ 0 };
    while (n-- && !in->failed) {
        const char *text = buf_reader_string(in);

        if (!text || string_list_add(list, text, &ignored) < 0)
            in->failed = true;
    }
}

static void take_files(struct buf_reader *in, sbr_request *req, size_t n)
{
    req->files = n ? calloc(n, sizeof(*req->files)) : NULL;
    in->failed |= n && !req->files;
    for (; req->n_files < n && !in->failed; req->n_files++) {
        struct request_file *file = &req->files[req->n_files];
        struct buf_reader at;

        file->path = take_text(in);
        at = *in;
        (void)buf_reader_bytes(&at, &file->len);
        file->data = take_bytes(in, file->len, true);
        file->executable = buf_reader_u32(in);
    }
}

static void take_volumes(struct buf_reader *in, sbr_request *req, size_t n)
{
    req->volumes = n ? calloc(n, sizeof(*req->volumes)) : NULL;
    in->failed |= n && !req->volumes;
    for (; req->n_volumes < n && !in->failed; req->n_volumes++) {
        struct request_volume *volume = &req->volumes[req->n_volumes];

        volume->source = take_text(in);
        volume->target = take_text(in);
        volume->mode = (enum volume_mode)buf_reader_u32(in);
        volume->sockets = buf_reader_u32(in);
    }
}

static void take_outputs(struct buf_reader *in, struct output_rules *rules, size_t n)
{
    rules->items = n ? calloc(n, sizeof(*rules->items)) : NULL;
    in->failed |= n && !rules->items;
    for (; rules->n < n && !in->failed; rules->n++) {
        rules->items[rules->n].pattern = take_text(in);
        rules->items[rules->n].dir = take_text(in);
    }
}

/* What the raw struct pointed to belongs to another process: nothing of that is left. */
static void take_parts(struct buf_reader *in, sbr_request *req)
{
    const sbr_request raw = *req;
    sbr_error ignored; /* in->failed says it */

    for (const struct request_field *field = request_fields; field->size; field++) {
        char **at = request_field_at(req, field);

        if (field->kind == FIELD_TEXT)
            *at = take_text(in);
        else if (field->kind == FIELD_BYTES)
            *at = take_bytes(in, *(const size_t *)(at + 1), *at != NULL);
        else if (is_list(field))
            take_list(in, request_field_at(req, field));
    }
    req->kernel_drivers = NULL;
    req->n_files = req->n_volumes = req->outputs.n = 0;
    take_files(in, req, raw.n_files);
    take_volumes(in, req, raw.n_volumes);
    take_outputs(in, &req->outputs, raw.outputs.n);
    req->network.rules =
        (struct host_rule *)(void *)take_bytes(in, raw.network.n_rules * sizeof(struct host_rule),
                                               raw.network.n_rules != 0);
    if (!req->network.rules)
        req->network.n_rules = 0;
    req->secrets = (struct secrets){ 0 };
    if (!in->failed && secrets_decode(in, &req->secrets, &ignored) < 0)
        in->failed = true;
}

int request_codec_decode(struct buf_reader *in, sbr_request **ret, sbr_error *err)
{
    sbr_request *req = calloc(1, sizeof(*req));
    const void *raw;
    size_t len;

    if (!req)
        return err_set_oom(err, "request");
    raw = buf_reader_bytes(in, &len);
    if (!raw || len != sizeof(*req)) {
        free(req);
        return err_set(err, SBR_E_UNSUPPORTED, "request", "the request is of another version");
    }
    memcpy(req, raw, len);
    take_parts(in, req);
    if (!in->failed) {
        *ret = req;
        return 0;
    }
    request_free(req);
    return err_set(err, SBR_E_INVALID, "request", "the bytes of the request end too soon");
}
