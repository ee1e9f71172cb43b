/* What a run used over time: points in order, drawn as bars of text or as lines of an SVG. */
#ifndef WORK_SERIES_H
#define WORK_SERIES_H

#include "base/buf.h"
#include "base/err.h"
#include "sandboxrun.h"

struct jsonw;

struct series_point {
    uint64_t time_us; /* since the program began */
    uint64_t cpu_us, memory_bytes, processes, io_bytes;
};

struct series {
    struct series_point *points;
    size_t n;
};

enum series_what { SERIES_CPU, SERIES_MEMORY, SERIES_PROCESSES, SERIES_IO, N_SERIES };

/* Points that do not come after the one before are left out. */
int series_add(struct series *s, const sbr_metrics *metrics, sbr_error *err) must_check;
void series_done(struct series *s);

/* One value for each point: thousandths of a processor, bytes, processes, bytes a second. */
uint64_t series_value(const struct series *s, enum series_what what, size_t i);
uint64_t series_max(const struct series *s, enum series_what what);
const char *series_name(enum series_what what);

/* Bars of eight heights, at most `columns` of them; each is the greatest of its points. */
void series_draw(const struct series *s, enum series_what what, size_t columns, struct buf *out);
/* A whole SVG document with one chart for each kind of value. */
void series_write_svg(const struct series *s, const char *title, struct buf *out);
void series_put_json(struct jsonw *j, const char *key, const struct series *s);

#endif
