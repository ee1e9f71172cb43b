/* The fields of a request as one table: request_fields.def has the rows. */
#ifndef MODEL_REQUEST_FIELDS_H
#define MODEL_REQUEST_FIELDS_H

#include "model/bounds.h"
#include "model/request.h"

/* How a field is kept and what it is in JSON. */
enum field_kind {
    FIELD_TEXT,   /* char *; a string */
    FIELD_WORD,   /* by its setter; a string */
    FIELD_LIST,   /* struct string_list; an array of strings */
    FIELD_TEXTS,  /* by its setter; an array of strings */
    FIELD_HOSTS,  /* the same; messages name the entry */
    FIELD_PAIRS,  /* struct string_list of NAME=VALUE; an object of strings */
    FIELD_SWITCH, /* bool, or by `turn`; true or false */
    FIELD_BYTES,  /* char *, and behind it the size_t that counts them; a string with any bytes */
    FIELD_LIMITS, /* struct limits; an object */
    FIELD_FILES,
    FIELD_TTY,
    FIELD_SECRETS, /* struct secrets; an array of names */
    FIELD_PLAIN,   /* no pointers in it, zero: not set; not in JSON */
};

/* Who may set it over HTTP. */
enum field_who {
    WHO_ANYONE,
    WHO_NAMES, /* anyone, but only what sandbox-run or the operator has a name for */
    WHO_ROOTS, /* anyone, below the roots of the tenant */
    WHO_LOCAL, /* the gateway's own user */
    WHO_NONE,
};

/* What request_override does with it. */
enum field_merge {
    MERGE_REPLACE, /* where it is set; of limits each for itself */
    MERGE_APPEND,
    MERGE_OR,
    MERGE_TREE,    /* /work has one tree: request.c:override_trees */
    MERGE_NETWORK, /* request.c:override_network */
    MERGE_TIER,
    MERGE_ALONE, /* each request has its own */
};

/* The group of options that has it; OF_NONE: none has, or the option is written out. */
enum field_group { OF_NONE, OF_BUILD, OF_TREES, OF_NETWORK, OF_ISOLATION, OF_OUTPUT };

/* What of an option's value is a path of the host, relative to the caller's directory. */
enum field_path { PATH_NONE, PATH_WHOLE, PATH_BEFORE, PATH_BEHIND, PATH_IF_DOT };

struct request_field {
    const char *name; /* in JSON; NULL: no client sets it */
    enum field_kind kind;
    enum field_who who;
    enum field_merge merge;
    enum bound bound;
    size_t offset, size; /* of the member */
    const char *must_be; /* ends the sentence of a wrong type */
    /* NULL: by the kind. */
    int (*set)(sbr_request *req, const char *text, sbr_error *err);
    int (*set_bytes)(sbr_request *req, const void *data, size_t len, sbr_error *err);
    void (*turn)(sbr_request *req, bool on);
    /* Its names elsewhere; NULL: it has none there. */
    const char *option, *mcp, *docker, *config;
    char letter; /* of the option; 0: none */
    const char *metavar, *maybe, *help;
    enum field_group group;
    enum field_path path;
    /* Of its schema: entries at most, what else its value must be, what an entry must be. */
    size_t most;
    const char *schema, *item;
};

#define FIELD(id, ...) FIELD_##id,
enum request_field_id {
#include "model/request_fields.def"
    N_REQUEST_FIELDS
};

/* The fields, by their number, then members that no client sets; a row of size 0 ends them. */
extern const struct request_field request_fields[];

/* By its name in JSON; NULL: there is none. */
const struct request_field *request_field_find(const char *name);
/* Where a request has it. */
void *request_field_at(const sbr_request *req, const struct request_field *field);
/* One text, or one more of a list; not for switches, bytes, files and terminals. */
int request_field_set(sbr_request *req, const struct request_field *field, const char *text,
                      sbr_error *err) must_check;
void request_field_turn(sbr_request *req, const struct request_field *field, bool on);
/* From JSON. */
int request_read_field(sbr_request *req, const struct request_field *field,
                       const struct json_t *value, sbr_error *err) must_check;

#endif
