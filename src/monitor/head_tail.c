#include "monitor/capture.h"

#include <string.h>

/* From here on the room for the whole stream is taken at once. */
#define LARGE (8 << 20)

void head_tail_init(struct head_tail *both, size_t head_max, size_t tail_max)
{
    *both = (struct head_tail){ .head_max = head_max, .ring_max = tail_max };
    buf_init(&both->kept, head_max + tail_max);
}

void head_tail_done(struct head_tail *both)
{
    buf_done(&both->kept);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Without memory for more: what is there becomes the head and the ring. */
static void stop_growing(struct head_tail *both)
{
    size_t len = both->kept.len;

    both->kept.failed = false;
    both->kept.max = len;
    both->head_max = min_size(both->head_max, len - len / 2);
    both->ring_max = len - both->head_max;
}

char *head_tail_room(struct head_tail *both, size_t len)
{
    char *room;

    if (len > both->kept.max - both->kept.len)
        return NULL;
    if (both->kept.len >= LARGE && both->kept.capacity - both->kept.len <= len)
        buf_reserve_all(&both->kept);
    room = buf_extend(&both->kept, len);
    if (room)
        both->kept.len -= len;
    else
        stop_growing(both);
    return room;
}

void head_tail_added(struct head_tail *both, size_t len)
{
    both->total += len;
    both->kept.len += len;
    both->kept.data[both->kept.len] = '\0';
}

/* The ring is full and loses its oldest bytes. */
static void ring_add(struct head_tail *both, const char *data, size_t len)
{
    size_t part;

    if (len > both->ring_max) {
        data += len - both->ring_max;
        len = both->ring_max;
    }
    for (; len; data += part, len -= part) {
        part = min_size(len, both->ring_max - both->ring_start);
        memcpy(both->kept.data + both->head_max + both->ring_start, data, part);
        both->ring_start = (both->ring_start + part) % both->ring_max;
    }
}

void head_tail_add(struct head_tail *both, const char *data, size_t len)
{
    size_t part = min_size(len, both->kept.max - both->kept.len);

    both->total += len;
    if (part && buf_add(&both->kept, data, part) < 0) {
        stop_growing(both);
        part = 0;
    }
    ring_add(both, data + part, len - part);
}

static size_t character_len(unsigned char lead)
{
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

/* Removes a character that begins before the end and is not complete there. */
static void cut_end(struct buf *b)
{
    for (size_t back = 1; b->data && back <= 3 && back <= b->len; back++) {
        unsigned char c = (unsigned char)b->data[b->len - back];

        if ((c & 0xc0) == 0x80)
            continue;
        if (c >= 0xc2 && c <= 0xf4 && character_len(c) > back) {
            b->len -= back;
            b->data[b->len] = '\0';
        }
        return;
    }
}

/* Bytes at the beginning that belong to a character before it. */
static size_t rest_of_character(const char *data, size_t len)
{
    size_t n = 0;

    while (n < 3 && n < len && ((unsigned char)data[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* The ring in the order of its bytes. */
static void take_tail(const struct head_tail *both, bool is_cut, bool goes_on, struct output *ret)
{
    const char *ring = both->kept.len ? both->kept.data + both->head_max : NULL;
    size_t len = both->kept.len - both->head_max;
    struct buf tail;

    buf_init(&tail, len);
    if (len && buf_add(&tail, ring + both->ring_start, len - both->ring_start) == 0)
        (void)!buf_add(&tail, ring, both->ring_start);
    if (tail.data && is_cut)
        buf_drop(&tail, rest_of_character(tail.data, tail.len));
    if (goes_on)
        cut_end(&tail);
    ret->tail = buf_take(&tail, &ret->tail_len);
    if (!ret->tail)
        ret->tail_len = 0;
}

/* The head alone. */
static void drop_ring(struct head_tail *both)
{
    struct buf *kept = &both->kept;

    if (!kept->data)
        return;
    kept->len = both->head_max;
    kept->data[kept->len] = '\0';
}

void head_tail_take(struct head_tail *both, bool goes_on, struct output *ret)
{
    bool cut = both->total > both->kept.len;

    if (cut) {
        take_tail(both, true, goes_on, ret);
        drop_ring(both);
    }
    if (cut || goes_on)
        cut_end(&both->kept);
    if (cut || both->kept.len >= LARGE)
        buf_trim(&both->kept);
    ret->data = buf_take(&both->kept, &ret->len);
    if (!ret->data)
        ret->len = 0;
    head_tail_done(both);
}

void head_tail_take_tail(struct head_tail *both, struct output *ret)
{
    take_tail(both, false, false, ret);
    head_tail_done(both);
}
