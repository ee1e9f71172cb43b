/* What a build has made: files that are new or changed, in the places of its tool. */
#ifndef WORK_BUILD_ARTIFACTS_H
#define WORK_BUILD_ARTIFACTS_H

#include "base/save.h"
#include "model/result.h"
#include "work/build_tool.h"

struct build_artifact {
    char *path;   /* relative to the project; any bytes */
    char *stored; /* where its content is, below the kept changes' directory of contents */
    uint64_t size;
    bool executable, link;
    char sum[SHA256_HEX_SIZE]; /* of the content, or of a link's text; empty: not readable */
};

struct build_artifacts {
    struct build_artifact *items; /* by path */
    size_t n;
    char changes_id[ENCODING_ID_SIZE]; /* where the contents are; empty: nowhere */
};

#define BUILD_ARTIFACTS_MOST 10000

/* Of a result with kept changes, or with kept files when nothing is copy-on-write; files that the
 * request itself brought are none. */
int build_artifacts_read(const struct build_tool *tool, const sbr_request *req,
                         const sbr_result *result, struct build_artifacts *ret, sbr_error *err)
    must_check;
void build_artifacts_done(struct build_artifacts *artifacts);

/* Copies them below `dir`, which is made; each is replaced in one step. */
int build_artifacts_copy(const struct build_artifacts *artifacts, const char *dir,
                         const struct save_trees *trees, sbr_error *err) must_check;
/* Reads the contents of all files among them, up to 64 MiB each; the caller frees the list. */
int build_artifacts_load(const struct build_artifacts *artifacts, struct request_file **ret,
                         size_t *ret_n, sbr_error *err) must_check;
/* The path of the first whose bytes differ, or which one side lacks; NULL: all are the same. */
const char *build_artifacts_differ(const struct build_artifacts *a,
                                   const struct build_artifacts *b);
void build_artifacts_put_json(struct jsonw *j, const char *key,
                              const struct build_artifacts *artifacts);

#endif
