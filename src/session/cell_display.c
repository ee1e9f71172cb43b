/* Bundles of values that a cell shows.  They stay text from the kernel to the client: a tree of
 * them would take 80 times as much, and nobody on the way looks into one. */
#include "base/json_text.h"
#include "session/supervisor.h"

/* Of all bundles of a cell.  Readers of a result take 100,000 values, 64 levels deep. */
static const struct json_bounds most_of_all = {
    .bytes = FRAME_PAYLOAD_MAX,
    .values = 64000,
    .depth = 48,
};

void cell_display_begin(struct cell *cell)
{
    buf_init(&cell->display, most_of_all.bytes);
}

/* Behind the comma after the one before. */
static enum json_text_found add(struct cell *cell, const struct frame *frame)
{
    struct json_bounds rest = most_of_all;
    enum json_text_found found = JSON_TEXT_TOO_MUCH;
    size_t before = cell->display.len, values = 0;

    rest.values -= cell->display_values;
    if (!before || buf_add(&cell->display, ",", 1) == 0)
        found = json_text_add(&cell->display, frame->payload, frame->len, &rest, &values);
    cell->display.failed = false;
    cell->display_values += values;
    if (found != JSON_TEXT_FITS)
        cell->display.len = before;
    return found;
}

static bool is_object(const struct frame *frame)
{
    size_t at = 0;

    while (at < frame->len && (frame->payload[at] == ' ' || frame->payload[at] == '\n'))
        at++;
    return at < frame->len && frame->payload[at] == '{';
}

void cell_display(struct kernel *k, const struct frame *frame)
{
    struct cell *cell = k->session->cell;
    enum json_text_found found = JSON_TEXT_TOO_MUCH;

    if (!cell || cell->kernel != k || frame->number != cell->number)
        return; /* of a cell that has ended: not even looked at */
    found = is_object(frame) ? add(cell, frame) : JSON_TEXT_WRONG;
    cell->display_dropped += found == JSON_TEXT_TOO_MUCH;
    if (found == JSON_TEXT_WRONG)
        k->session->hooks->end_kernel(k, "the kernel broke its channel");
}

void cell_display_write(const struct cell *cell, struct buf *out)
{
    if (cell->display_dropped)
        buf_printf(out, "\"display_dropped\":%llu,", (unsigned long long)cell->display_dropped);
    buf_add_text(out, "\"display\":[");
    buf_add(out, cell->display.data, cell->display.len);
    buf_add_text(out, "]");
}
