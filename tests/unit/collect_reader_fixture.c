#include "collect_reader_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "unit.h"

struct intake_fixture f;

int intake_set_up(void **state)
{
    char tree[64];
    int fd;

    (void)state;
    snprintf(f.room, sizeof(f.room), "/tmp/test_intake.XXXXXX");
    assert_non_null(mkdtemp(f.room));
    snprintf(tree, sizeof(tree), "%s/tree", f.room);
    snprintf(f.beside, sizeof(f.beside), "%s/beside", f.room);
    assert_int_equal(mkdir(tree, 0755), 0);
    fd = open(f.beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    f.tree_fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(f.tree_fd >= 0);
    buf_init(&f.stream, 16 << 20);
    f.part = (struct collect_part){ .dir_fd = f.tree_fd };
    collect_reader_init(&f.collect_reader, &f.part, 1, MAX_BYTES, MAX_ENTRIES);
    put_part(0);
    arrive(AT_ONCE);
    return 0;
}

int intake_tear_down(void **state)
{
    struct stat st;
    char tree[64];

    (void)state;
    collect_reader_done(&f.collect_reader);
    collect_list_done(&f.list);
    buf_done(&f.stream);
    assert_int_equal(fstat(f.tree_fd, &st), 0); /* borrowed, and given back */
    close(f.tree_fd);
    assert_int_equal(lstat(f.beside, &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(unlink(f.beside), 0);
    snprintf(tree, sizeof(tree), "%s/tree", f.room);
    assert_int_equal(tree_remove(AT_FDCWD, tree), 0);
    assert_int_equal(rmdir(f.room), 0); /* there was nothing else */
    return 0;
}

void collect_reader_again(void)
{
    intake_tear_down(NULL);
    intake_set_up(NULL);
}

struct collect_entry entry_of(enum collect_kind kind, uint64_t size)
{
    return (struct collect_entry){ .kind = kind, .size = size, .mtime_s = 1000000000 };
}

void put_entry(struct collect_entry entry, const char *name)
{
    if (name)
        entry.name_len = (uint32_t)strlen(name);
    buf_add(&f.stream, &entry, sizeof(entry));
    if (name)
        buf_add(&f.stream, name, strlen(name));
}

void put(enum collect_kind kind, const char *name, const char *content)
{
    size_t len = content ? strlen(content) : 0;

    put_entry(entry_of(kind, len), name);
    if (kind == COLLECT_FILE) {
        if (len)
            put_piece(0, content);
        put_piece(0, NULL);
    } else if (len) {
        buf_add(&f.stream, content, len);
    }
}

void put_piece(uint64_t offset, const char *data)
{
    struct collect_piece piece = { offset, data ? strlen(data) : 0 };

    buf_add(&f.stream, &piece, sizeof(piece));
    if (piece.len)
        buf_add(&f.stream, data, piece.len);
}

void put_part(size_t index)
{
    put_entry(entry_of(COLLECT_PART, index), NULL);
}

void want_list(void)
{
    f.part.list = &f.list;
}

/* All that was put, in pieces of this size. */
void arrive(size_t piece)
{
    for (size_t at = 0; at < f.stream.len; at += piece)
        collect_reader_take(&f.collect_reader, (unsigned char *)f.stream.data + at,
                            f.stream.len - at < piece ? f.stream.len - at : piece);
    f.stream.len = 0;
}

void assert_arrived(void)
{
    arrive(AT_ONCE);
    collect_reader_finish(&f.collect_reader);
    if (f.collect_reader.failure.code)
        fail_msg("refused: %s", f.collect_reader.failure.message);
    assert_true(f.collect_reader.complete);
    assert_true(f.part.complete);
    assert_int_equal(f.part.failure.code, 0);
}

void assert_not_taken(enum sbr_code code, const char *part)
{
    arrive(AT_ONCE);
    collect_reader_finish(&f.collect_reader);
    assert_refused(f.collect_reader.failure.code, &f.collect_reader.failure, code, part);
    assert_refused(f.part.failure.code, &f.part.failure, code, part);
    assert_false(f.part.complete);
}

struct stat stat_of(const char *name)
{
    struct stat st;

    if (fstatat(f.tree_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        fail_msg("there is no '%s'", name);
    return st;
}

bool exists(const char *name)
{
    struct stat st;

    return fstatat(f.tree_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

void assert_content(const char *name, const char *expected)
{
    int fd = openat(f.tree_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char text[MAX_BYTES + 1];
    ssize_t n = read(fd, text, MAX_BYTES);

    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    assert_string_equal(text, expected);
}

void put_zeros(size_t len)
{
    struct collect_piece piece = { 0, len };

    buf_add(&f.stream, &piece, sizeof(piece));
    assert_non_null(memset(buf_extend(&f.stream, len), 0, len));
}

void put_a_tree(void)
{
    put(COLLECT_FILE, "program", "text");
    put(COLLECT_ENTER, "lib", NULL);
    put(COLLECT_FILE, "empty", NULL);
    put(COLLECT_ENTER, "deep", NULL);
    put(COLLECT_LINK, "up", "../../program");
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_FILE, "last", "!");
    put(COLLECT_END, NULL, NULL);
}

void assert_the_tree(void)
{
    char target[64] = "";

    assert_content("program", "text");
    assert_content("lib/empty", "");
    assert_content("last", "!");
    assert_true(S_ISLNK(stat_of("lib/deep/up").st_mode));
    assert_int_equal(readlinkat(f.tree_fd, "lib/deep/up", target, sizeof(target)), 13);
    assert_string_equal(target, "../../program");
}
