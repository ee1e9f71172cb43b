/* DNS messages for tests: put together by hand, not by the code that is tested. */
#ifndef DNS_FIXTURE_H
#define DNS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#define QUERY_MAX 1024

struct query {
    uint8_t bytes[QUERY_MAX];
    size_t len;
};

/* An ordinary query for a name as people write it, with RD set. */
struct query query_make(uint16_t id, const char *name, uint16_t type);
void query_add(struct query *q, const void *bytes, size_t len);
/* Sets two bytes of the header or of anything else. */
void query_set16(struct query *q, size_t at, uint16_t value);

uint16_t message_id(const uint8_t *message);
unsigned int message_rcode(const uint8_t *message);
unsigned int message_answers(const uint8_t *message);

#endif
