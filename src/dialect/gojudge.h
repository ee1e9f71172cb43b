/* go-judge's forms: commands with files around them. */
#ifndef DIALECT_GOJUDGE_H
#define DIALECT_GOJUDGE_H

#include "dialect/translate.h"
#include "http/submission.h"

#define GOJUDGE_FILE_MAX ((size_t)64 << 20)

struct gojudge_file {
    struct link link;
    char id[ENCODING_ID_SIZE];
    char tenant[GRANT_TENANT_SIZE];
    char *name;
    struct response_text *content; /* any bytes */
};

/* Takes the content over.  NULL: the store is full, or there is no memory. */
const struct gojudge_file *gojudge_store_add(struct server *server, const struct grant *tenant,
                                             const char *name, struct response_text *content);
/* NULL: the tenant has none of that id. */
struct gojudge_file *gojudge_store_find(const struct server *server, const struct grant *tenant,
                                        const char *id);
void gojudge_store_remove(struct gojudge_file *file);
/* {id: name}. */
json_t *gojudge_store_list(const struct server *server, const struct grant *tenant);
void gojudge_store_close(struct server *server);

/* A file that a command leaves for the store. */
struct gojudge_left {
    char *name;
    struct response_text *content;
};

/* One command: how it is run, and what is wanted of it. */
struct gojudge_command {
    const json_t *given;
    struct response_text **held; /* kept files that it names, in their order; stdin's is the last */
    size_t n_held, at_held;
    sbr_request *req; /* until it begins; NULL: the fault says why there is none */
    struct refusal fault;
    struct gojudge_left *left;
    size_t n_left;
    struct execution *execution; /* NULL: it is over, or did not begin */
    struct gojudge_run *run;
    struct server *server;
    const struct grant *tenant;
    const char *input; /* of stdin; NULL: none; in `given`, or in one of those that are held */
    size_t input_len;
    char *dir;    /* where files are collected; NULL: none are wanted */
    int dir_lock; /* held until they are read; -1: none */
    int in, out;  /* ends of pipes that it has; -1: none */
    json_t *result;
};

/* Looks up the files that the command names.  0 or -1 with a message. */
int gojudge_hold(struct gojudge_command *c, char message[200]);
/* Of those files. */
size_t gojudge_held_bytes(const struct gojudge_command *c);
/* Our request; NULL: `message` says why there is none.  In any thread. */
json_t *gojudge_request(struct gojudge_command *c, char message[200]);
/* Adds what JSON cannot say: bytes of stdin, the directory of files. */
int gojudge_add(sbr_request *req, struct gojudge_command *c, sbr_error *err);
/* The result of a command that ended, in go-judge's form, without the files for the store: a
 * digest. */
json_t *gojudge_result(const struct execution *e, const json_t *result,
                       const struct output_files *files);
/* Moves the files that the command left into the store. */
void gojudge_store_left(struct gojudge_command *c, json_t *answer);
json_t *gojudge_failure(const char *message);
/* A new directory for what the command leaves.  0 or -1 with errno. */
int gojudge_make_dir(struct gojudge_command *c);
void gojudge_drop_dir(struct gojudge_command *c);

void gojudge_run(struct exchange *x);

#endif
