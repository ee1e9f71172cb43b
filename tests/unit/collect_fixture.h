/* Real trees that init hands out, straight into an intake. */
#ifndef COLLECT_FIXTURE_H
#define COLLECT_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "init/collect_files.h"
#include "monitor/collect_reader.h"

#define OTHER_UID 65534

struct collect_fixture {
    char disk_usage[32];
    int root;     /* what is the root inside; has an empty directory `work` */
    bool as_user; /* that init is an ordinary one */
    struct plan plan;
    struct init_report *report;
    struct collect_reader collect_reader;
    struct collect_part parts[2];
    struct collect_list lists[2];
};

extern struct collect_fixture made;

int collect_set_up(void **state);
int collect_tear_down(void **state);

/* One more part of the plan; `work` is the tree above the first copy-on-write one. */
void collects(enum collect_what what, const char *path);
/* All by their path below the root. */
void put_file(const char *path, const char *text);
/* A megabyte under `n` + 1 names: work/big, work/name0, ... */
void make_big(int n);
void put_dir(const char *path);
void make_socket(const char *path);

/* Hands out and takes in. */
void take_out(bool succeeded);

/* The rest is about the first part. */
void assert_whole(void);
const struct collect_list_entry *find(const char *path); /* NULL: it did not come */
void assert_kind(const char *path, enum collect_kind kind);
void assert_skipped(const char *path, enum collect_skip why);
/* As far as the first NUL. */
void assert_file_holds(const char *path, const char *expected);

#define COLLECT_TEST(test) cmocka_unit_test_setup_teardown(test, collect_set_up, collect_tear_down)

#endif
