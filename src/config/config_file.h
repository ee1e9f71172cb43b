/* One configuration file as written: docs/configuration.md has the keys. */
#ifndef CONFIG_CONFIG_FILE_H
#define CONFIG_CONFIG_FILE_H

#include "base/document.h"
#include "base/sha256.h"
#include "config/config_find.h"
#include "config/retention.h"
#include "model/exclude.h"
#include "model/limits.h"
#include "model/network.h"
#include "model/secret.h"

enum config_kind { CONFIG_OF_USER, CONFIG_OF_PROJECT };

#define CONFIG_MAX_BYTES (64 * 1024)

/* A file that was read once: what is hashed is what is parsed. */
struct config_text {
    char path[CONFIG_PATH_SIZE];
    char *text;
    size_t len;
    char digest[SHA256_HEX_SIZE];
};

/* 1: read; 0: there is no such file; negative: it cannot be read, or others could have written it.
 * The caller calls config_text_done either way. */
int config_text_read(enum config_kind kind, const char *path, struct config_text *ret,
                     sbr_error *err) must_check;
void config_text_done(struct config_text *text);
/* The line of `key` in the part `section` (NULL: at the top); where the part is written on one
 * line, that line; 0 when neither is there. */
unsigned int config_text_line(const struct config_text *text, const char *section, const char *key);

struct config_network {
    char *mode;
    DOCUMENT_LIST(allow_hosts);
    bool *allow_dns;
};

/* A language file, or another form of a language that is there. */
struct config_language {
    char *file;
    char *name;
    char *binary;  /* the interpreter or compiler to use */
    char *version; /* when the request names none */
};

/* A directory that the gateway's clients of one tenant may name. */
struct config_root {
    char *tenant;
    char *name;
    char *path;
    char *mode; /* "ro" or "rw" */
};

/* Of the HTTP gateway, which checks the values. */
struct config_http {
    struct config_root *roots;
    unsigned int n_roots;
    char *collector; /* address of OTLP/HTTP */
    char *memory;    /* that runs may use together where no engine has a say */
    char *share;     /* percent that one of several tenants may hold */
};

/* Of `sandbox-run serve`. */
struct config_engine {
    char *share; /* percent of all that one of several callers may hold */
};

struct config_document {
    struct {
        char *value[N_LIMITS];
    } limits, compile_limits;
    struct config_network network;
    DOCUMENT_LIST(exclude);
    DOCUMENT_LIST(include);
    DOCUMENT_LIST(secrets);
    char *policy;
    char *require;
    char *audit;
    char *backend;
    struct {
        char *value[N_RETENTIONS];
    } retention;
    struct config_language *languages;
    unsigned int n_languages;
    struct config_http http;
    struct config_engine engine;
};

/* Reads the keys; values are checked by the caller, which knows what they mean. */
int config_document_load(const struct config_text *text, enum config_kind kind,
                         struct config_document **ret, sbr_error *err) must_check;
void config_document_free(struct config_document *document);
/* A fault of a value: "FILE:LINE: in 'SECTION.KEY': WHY". */
int config_fault(const struct config_text *text, const char *section, const char *key,
                 const char *why, sbr_error *err);

#endif
