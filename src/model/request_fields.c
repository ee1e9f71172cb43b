#include "model/request_fields.h"

#include <stdlib.h>
#include <string.h>

#include "model/exclude.h"

#define PLACE(member)                                                                              \
    .offset = offsetof(sbr_request, member), .size = sizeof(((sbr_request *)0)->member)
#define NO_SETTER .set = NULL
#define FIELD(id, kind_, member, setter, who_, merge_, bound_, must_be_, ...)                      \
    [FIELD_##id] = { .name = #id,                                                                  \
                     .kind = FIELD_##kind_,                                                        \
                     .who = WHO_##who_,                                                            \
                     .merge = MERGE_##merge_,                                                      \
                     .bound = BOUND_##bound_,                                                      \
                     .must_be = (must_be_),                                                        \
                     PLACE(member),                                                                \
                     setter,                                                                       \
                     ##__VA_ARGS__ },
#define MEMBER(kind_, member, merge_)                                                              \
    { .kind = FIELD_##kind_, .who = WHO_NONE, .merge = MERGE_##merge_, PLACE(member) },
const struct request_field request_fields[] = {
#include "model/request_fields.def"
    { 0 },
};

_Static_assert(offsetof(sbr_request, code_len) == offsetof(sbr_request, code) + sizeof(char *) &&
                   offsetof(sbr_request, stdin_len) ==
                       offsetof(sbr_request, stdin_data) + sizeof(char *),
               "FIELD_BYTES: the count stands behind the bytes");

const struct request_field *request_field_find(const char *name)
{
    for (size_t i = 0; i < N_REQUEST_FIELDS; i++)
        if (!strcmp(request_fields[i].name, name))
            return &request_fields[i];
    return NULL;
}

void *request_field_at(const sbr_request *req, const struct request_field *field)
{
    return (char *)req + field->offset;
}

int request_field_set(sbr_request *req, const struct request_field *field, const char *text,
                      sbr_error *err)
{
    void *at = request_field_at(req, field);

    if (field->set)
        return field->set(req, text, err);
    if (field->kind == FIELD_TEXT)
        return request_set_text(at, text, err);
    return string_list_add(at, text, err);
}

void request_field_turn(sbr_request *req, const struct request_field *field, bool on)
{
    if (field->turn)
        field->turn(req, on);
    else
        *(bool *)request_field_at(req, field) = on;
}

int request_set_text(char **field, const char *text, sbr_error *err)
{
    char *copy = NULL;

    if (text && !(copy = strdup(text)))
        return err_set_oom(err, "request");
    free(*field);
    *field = copy;
    return 0;
}

void request_free(sbr_request *req)
{
    if (!req)
        return;
    for (size_t i = 0; i < req->n_files; i++) {
        free(req->files[i].path);
        free(req->files[i].data);
    }
    for (size_t i = 0; i < req->n_volumes; i++) {
        free(req->volumes[i].source);
        free(req->volumes[i].target);
    }
    network_done(&req->network);
    output_rules_done(&req->outputs);
    free(req->files);
    free(req->volumes);
    for (const struct request_field *field = request_fields; field->size; field++) {
        if (field->kind == FIELD_TEXT || field->kind == FIELD_BYTES)
            free(*(char **)request_field_at(req, field));
        else if (field->kind == FIELD_SECRETS)
            secrets_done(request_field_at(req, field));
        else if (field->kind == FIELD_LIST || field->kind == FIELD_PAIRS)
            string_list_done(request_field_at(req, field));
    }
    free(req);
}
