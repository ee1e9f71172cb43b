/* go-judge's forms: commands with files around them. */
#ifndef DIALECT_GOJUDGE_H
#define DIALECT_GOJUDGE_H

#include "dialect/translate.h"

#define GOJUDGE_FILE_MAX ((size_t)64 << 20)

struct gojudge_file {
    struct link link;
    char id[ENCODING_ID_SIZE];
    char tenant[TENANT_NAME_SIZE];
    char *name;
    char *data;
    size_t len;
};

/* Takes `data` over.  NULL: the store is full, or there is no memory. */
const struct gojudge_file *gojudge_store_add(const struct tenant *tenant, const char *name,
                                             char *data, size_t len);
/* NULL: the tenant has none of that id. */
struct gojudge_file *gojudge_store_find(const struct tenant *tenant, const char *id);
void gojudge_store_remove(struct gojudge_file *file);
/* {id: name}. */
json_t *gojudge_store_list(const struct tenant *tenant);
void gojudge_store_close(void);

/* One command: how it is run, and what is wanted of it. */
struct gojudge_command {
    const json_t *given;
    struct execution *execution; /* NULL: it is over, or did not begin */
    struct gojudge_run *run;
    const struct tenant *tenant;
    const char *input; /* of stdin; NULL: none */
    size_t input_len;
    char *dir;    /* where files are collected; NULL: none are wanted */
    int dir_lock; /* held until they are read; -1: none */
    int in, out;  /* ends of pipes that it has; -1: none */
    json_t *result;
};

/* Our request; NULL: `message` says why there is none. */
json_t *gojudge_request(struct gojudge_command *c, char message[200]);
/* Adds what JSON cannot say: bytes of stdin, the directory of files. */
int gojudge_add(sbr_request *req, void *context, sbr_error *err);
/* The result of a command that ended, in go-judge's form. */
json_t *gojudge_result(struct gojudge_command *c, const struct execution *e);
json_t *gojudge_failure(const char *message);
/* A new directory for what the command leaves.  0 or -1 with errno. */
int gojudge_make_dir(struct gojudge_command *c);
void gojudge_drop_dir(struct gojudge_command *c);

void gojudge_run(struct exchange *x);

#endif
