/* A stream as init would send it, and the directory that it is taken into. */
#ifndef COLLECT_READER_FIXTURE_H
#define COLLECT_READER_FIXTURE_H

#include <sys/stat.h>

#include "base/buf.h"
#include "monitor/collect_reader.h"

#define MAX_BYTES 1000
#define MAX_ENTRIES 300
#define AT_ONCE (SIZE_MAX / 2)

/* What takes the stream in, with one part, what is to be sent next, the directory that is filled,
 * and a file beside it that must stay as it is. */
struct intake_fixture {
    struct collect_reader collect_reader;
    struct collect_part part;
    struct collect_list list; /* used after want_list() */
    struct buf stream;
    int tree_fd;
    char room[32], beside[64];
};

extern struct intake_fixture f;

int intake_set_up(void **state);
/* Also asserts that nothing outside the directory was touched. */
int intake_tear_down(void **state);
/* Both: for tests of many streams. */
void collect_reader_again(void);

struct collect_entry entry_of(enum collect_kind kind, uint64_t size);
/* `name` may be NULL. */
void put_entry(struct collect_entry entry, const char *name);
void put(enum collect_kind kind, const char *name, const char *content);
/* NULL: the last one, which ends the file. */
void put_piece(uint64_t offset, const char *data);
/* One piece at the start. */
void put_zeros(size_t len);
/* Part 0 has begun already. */
void put_part(size_t index);
void want_list(void);
/* All that was put, in pieces of this size. */
void arrive(size_t piece);

/* The rest arrives, and the writer is gone. */
void assert_arrived(void);
void assert_not_taken(enum sbr_code code, const char *part);

struct stat stat_of(const char *name);
bool exists(const char *name);
void assert_content(const char *name, const char *expected);

/* Some of everything, and the proof of it. */
void put_a_tree(void);
void assert_the_tree(void);

#define INTAKE_TEST(test) cmocka_unit_test_setup_teardown(test, intake_set_up, intake_tear_down)

#endif
