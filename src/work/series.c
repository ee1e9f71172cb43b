#include "work/series.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "work/markup.h"

#define MOST_POINTS 100000
#define CHART_WIDTH 600
#define CHART_HEIGHT 80
#define CHART_LEFT 20

static const char *const names[N_SERIES] = {
    [SERIES_CPU] = "CPU",
    [SERIES_MEMORY] = "memory",
    [SERIES_PROCESSES] = "processes",
    [SERIES_IO] = "I/O",
};

const char *series_name(enum series_what what)
{
    return names[what];
}

int series_add(struct series *s, const sbr_metrics *m, sbr_error *err)
{
    struct series_point *grown;

    if (s->n == MOST_POINTS || (s->n && m->wall_us <= s->points[s->n - 1].time_us))
        return 0;
    grown = reallocarray(s->points, s->n + 1, sizeof(*grown));
    if (!grown)
        return err_set_oom(err, "profile");
    s->points = grown;
    grown[s->n++] = (struct series_point){ .time_us = m->wall_us,
                                           .cpu_us = m->cpu_user_us + m->cpu_system_us,
                                           .memory_bytes = m->memory_bytes,
                                           .processes = m->processes,
                                           .io_bytes = m->io_read_bytes + m->io_write_bytes };
    return 0;
}

void series_done(struct series *s)
{
    free(s->points);
    *s = (struct series){ 0 };
}

/* How much a count has grown since the point before, for each microsecond, times `unit`. */
static uint64_t rate(uint64_t now, uint64_t before, uint64_t us, uint64_t unit)
{
    return now > before && us ? (uint64_t)((double)(now - before) * (double)unit / (double)us) : 0;
}

uint64_t series_value(const struct series *s, enum series_what what, size_t i)
{
    /* The first point has what the set-up used, too. */
    const struct series_point *p = &s->points[i], *before = i ? p - 1 : p;
    uint64_t us = p->time_us - before->time_us;

    switch (what) {
    case SERIES_CPU:
        return rate(p->cpu_us, before->cpu_us, us, 1000);
    case SERIES_MEMORY:
        return p->memory_bytes;
    case SERIES_PROCESSES:
        return p->processes;
    default:
        return rate(p->io_bytes, before->io_bytes, us, 1000000);
    }
}

uint64_t series_max(const struct series *s, enum series_what what)
{
    uint64_t max = 0;

    for (size_t i = 0; i < s->n; i++) {
        uint64_t value = series_value(s, what, i);

        max = value > max ? value : max;
    }
    return max;
}

void series_draw(const struct series *s, enum series_what what, size_t columns, struct buf *out)
{
    static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    uint64_t max = series_max(s, what);

    if (columns > s->n)
        columns = s->n;
    for (size_t c = 0; c < columns; c++) {
        uint64_t top = 0;

        for (size_t i = c * s->n / columns; i < (c + 1) * s->n / columns; i++) {
            uint64_t value = series_value(s, what, i);

            top = value > top ? value : top;
        }
        buf_add_text(out, bars[max ? (size_t)((double)top * 7 / (double)max) : 0]);
    }
}

static void write_chart(const struct series *s, enum series_what what, struct buf *out)
{
    uint64_t max = series_max(s, what), end = s->points[s->n - 1].time_us;
    unsigned int top = 40 + (unsigned int)what * (CHART_HEIGHT + 40);

    buf_printf(out, "<text x=\"%d\" y=\"%u\">%s, at most %" PRIu64 "%s</text>\n", CHART_LEFT,
               top - 6, names[what], max,
               what == SERIES_CPU      ? " thousandths of a processor"
               : what == SERIES_MEMORY ? " bytes"
               : what == SERIES_IO     ? " bytes a second"
                                       : "");
    buf_printf(out,
               "<rect x=\"%d\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"none\" "
               "stroke=\"#999\"/>\n<polyline fill=\"none\" stroke=\"#06c\" points=\"",
               CHART_LEFT, top, CHART_WIDTH, CHART_HEIGHT);
    for (size_t i = 0; i < s->n; i++) {
        double x = end ? (double)s->points[i].time_us / (double)end : 0;
        double y = max ? (double)series_value(s, what, i) / (double)max : 0;

        buf_printf(out, "%u,%u ", CHART_LEFT + (unsigned int)(x * CHART_WIDTH),
                   top + CHART_HEIGHT - (unsigned int)(y * CHART_HEIGHT));
    }
    buf_add_text(out, "\"/>\n");
}

void series_write_svg(const struct series *s, const char *title, struct buf *out)
{
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "font-family=\"sans-serif\" font-size=\"12\">\n<text x=\"%d\" y=\"16\">",
               CHART_WIDTH + 2 * CHART_LEFT, 40 + N_SERIES * (CHART_HEIGHT + 40), CHART_LEFT);
    markup_escape(out, title);
    buf_add_text(out, "</text>\n");
    for (size_t what = 0; s->n && what < N_SERIES; what++)
        write_chart(s, (enum series_what)what, out);
    buf_add_text(out, "</svg>\n");
}

void series_put_json(struct jsonw *j, const char *key, const struct series *s)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < s->n; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_fixed(j, "time_ms", s->points[i].time_us, 3);
        jsonw_fixed(j, "cpu", series_value(s, SERIES_CPU, i), 3);
        jsonw_number(j, "memory_bytes", s->points[i].memory_bytes);
        jsonw_number(j, "processes", s->points[i].processes);
        jsonw_number(j, "io_bytes_per_second", series_value(s, SERIES_IO, i));
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}
