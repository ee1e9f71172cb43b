/* A tree, its copy, what was taken of the copy, and a second copy to which that is applied. */
#ifndef COPY_FIXTURE_H
#define COPY_FIXTURE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "changes/copy_tree.h"

enum copy_place { SOURCE, COPY, CONTENT, SECOND, N_COPY_PLACES };

struct copy_fixture {
    char room[64];
    int fds[N_COPY_PLACES];
    struct copied copied;
    struct collected collected;
};
extern struct copy_fixture cp;

int copy_set_up(void **state);
int copy_tear_down(void **state);
/* Everything empty again. */
void copy_again(void);

/* All with a place and a path below it. */
void file_at(int at, const char *path, const char *content, mode_t mode);
void dir_at(int at, const char *path, mode_t mode);
void link_at(int at, const char *path, const char *text);
struct stat look_at(int at, const char *path);
void assert_content_at(int at, const char *path, const char *content);
void remove_at(int at, const char *path);

/* Each asserts that it went well. */
void copy_it(void);
void find_changes(void);
/* The list of changes as text: a letter, a blank and the path of each. */
void assert_noted(const char *expected);
const struct collect_list_entry *entry_at(const char *path);
/* What was taken, applied to the tree at `place`. */
void apply_taken(enum copy_place place);
/* Names, kinds, modes, contents and link texts. */
void assert_same_trees(int a, int b);

/* Runs this program once more as somebody who is not root, where that is possible. */
void as_an_ordinary_user_too(void **state);

#define COPY_TEST(name) cmocka_unit_test_setup_teardown(name, copy_set_up, copy_tear_down)

#endif
