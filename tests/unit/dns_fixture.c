#include "dns_fixture.h"

#include <string.h>

void query_add(struct query *q, const void *bytes, size_t len)
{
    memcpy(q->bytes + q->len, bytes, len);
    q->len += len;
}

void query_set16(struct query *q, size_t at, uint16_t value)
{
    q->bytes[at] = (uint8_t)(value >> 8);
    q->bytes[at + 1] = (uint8_t)value;
}

struct query query_make(uint16_t id, const char *name, uint16_t type)
{
    struct query q = { .bytes = { 0, 0, 1, 0, 0, 1 }, .len = 12 };

    query_set16(&q, 0, id);
    while (*name) {
        size_t len = strcspn(name, ".");

        query_add(&q, &(uint8_t){ (uint8_t)len }, 1);
        query_add(&q, name, len);
        name += len + (name[len] == '.');
    }
    query_add(&q, (uint8_t[]){ 0, (uint8_t)(type >> 8), (uint8_t)type, 0, 1 }, 5);
    return q;
}

uint16_t message_id(const uint8_t *message)
{
    return (uint16_t)(message[0] << 8 | message[1]);
}

unsigned int message_rcode(const uint8_t *message)
{
    return message[3] & 15;
}

unsigned int message_answers(const uint8_t *message)
{
    return (unsigned int)message[6] << 8 | message[7];
}
