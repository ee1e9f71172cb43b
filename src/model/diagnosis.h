/* What went wrong in the user's program, in the words of its language. */
#ifndef MODEL_DIAGNOSIS_H
#define MODEL_DIAGNOSIS_H

#include <stddef.h>

#include "base/jsonw.h"

struct diagnosis_frame {
    char *file; /* relative to the work directory */
    unsigned int line, column;
    char *function; /* NULL: unknown */
};

#define DIAGNOSIS_MAX_FRAMES 32

/* The struct owns every text; any may be NULL. */
struct diagnosis {
    char *type;
    char *message;
    char *file;
    unsigned int line, column;                           /* 0: unknown */
    struct diagnosis_frame frames[DIAGNOSIS_MAX_FRAMES]; /* innermost first */
    size_t n_frames;
    char *context; /* three lines of the source, with the failing one marked */
    char *suggestion;
    char *link;
};

void diagnosis_free(struct diagnosis *diagnosis);
/* Writes null when `diagnosis` is NULL. */
void diagnosis_put_json(struct jsonw *j, const char *key, const struct diagnosis *diagnosis);

#endif
