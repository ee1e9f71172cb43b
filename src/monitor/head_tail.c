#include "monitor/head_tail.h"

#include <stdbool.h>
#include <string.h>

void head_tail_init(struct head_tail *both, size_t head_max, size_t tail_max)
{
    *both = (struct head_tail){ .head_max = head_max, .ring_max = tail_max };
    buf_init(&both->head, head_max + tail_max); /* the tail joins it when nothing is between them */
    buf_init(&both->ring, tail_max);
}

void head_tail_done(struct head_tail *both)
{
    buf_done(&both->head);
    buf_done(&both->ring);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A ring that is not full yet grows; a full one loses its oldest bytes. */
static void ring_add(struct head_tail *both, const char *data, size_t len)
{
    struct buf *ring = &both->ring;
    size_t part;

    if (len > both->ring_max) {
        data += len - both->ring_max;
        len = both->ring_max;
    }
    part = min_size(len, both->ring_max - ring->len);
    if (part && buf_add(ring, data, part) < 0)
        return;
    for (data += part, len -= part; len; data += part, len -= part) {
        part = min_size(len, both->ring_max - both->ring_start);
        memcpy(ring->data + both->ring_start, data, part);
        both->ring_start = (both->ring_start + part) % both->ring_max;
    }
}

char *head_tail_room(struct head_tail *both, size_t len)
{
    char *room;

    if (both->head.failed || len > both->head_max - both->head.len)
        return NULL;
    room = buf_extend(&both->head, len);
    if (room)
        both->head.len -= len;
    return room;
}

void head_tail_added(struct head_tail *both, size_t len)
{
    both->total += len;
    both->head.len += len;
    both->head.data[both->head.len] = '\0';
}

void head_tail_add(struct head_tail *both, const char *data, size_t len)
{
    size_t part = both->head.failed ? 0 : min_size(len, both->head_max - both->head.len);

    both->total += len;
    if (part)
        (void)!buf_add(&both->head, data, part); /* without memory: the head ends here */
    if (len > part && !both->ring.failed)
        ring_add(both, data + part, len - part);
}

static size_t character_len(unsigned char lead)
{
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

/* Removes a character that begins before the end and is not complete there. */
static void cut_end(struct buf *b)
{
    for (size_t back = 1; back <= 3 && back <= b->len; back++) {
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

static void add_ring(const struct head_tail *both, struct buf *to)
{
    const struct buf *ring = &both->ring;

    if (ring->len && buf_add(to, ring->data + both->ring_start, ring->len - both->ring_start) == 0)
        (void)!buf_add(to, ring->data, both->ring_start);
}

static void take_tail(struct head_tail *both, bool is_cut, bool goes_on, struct output *ret)
{
    struct buf tail;

    buf_init(&tail, both->ring.len);
    add_ring(both, &tail);
    if (tail.data && is_cut)
        buf_drop(&tail, rest_of_character(tail.data, tail.len));
    if (goes_on)
        cut_end(&tail);
    ret->tail = buf_take(&tail, &ret->tail_len);
}

void head_tail_take(struct head_tail *both, bool goes_on, struct output *ret)
{
    struct buf *head = &both->head;
    bool cut = both->total > head->len + both->ring.len;

    head->failed = !head->data && head->failed; /* what is there is better than nothing */
    if (cut)
        take_tail(both, true, goes_on, ret);
    else
        add_ring(both, head);
    if (cut || goes_on)
        cut_end(head);
    ret->data = buf_take(head, &ret->len);
    if (!ret->data)
        ret->len = 0;
    if (!ret->tail)
        ret->tail_len = 0;
    head_tail_done(both);
}

void head_tail_take_tail(struct head_tail *both, struct output *ret)
{
    take_tail(both, false, false, ret);
    head_tail_done(both);
}
