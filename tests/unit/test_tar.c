/* Archives of trees: there and back, and what a stranger may put into one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "tree_fixture.h"
#include "unit.h"
#include "workspace/tar.h"
#include "workspace/tar_format.h"

static struct tree_place place;
static struct buf archive;

static int set_up(void **state)
{
    (void)state;
    umask(022);
    tree_place_make(&place);
    buf_init(&archive, 64 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_done(&archive);
    tree_place_remove(&place);
    return 0;
}

static void seal(struct tar_header *header)
{
    char sum[8] = "";

    snprintf(sum, sizeof(sum), "%06o", tar_sum(header) & 0777777);
    memcpy(header->sum, sum, sizeof(sum));
}

static void add_block(const void *data, size_t len)
{
    static const char zeros[TAR_BLOCK];

    buf_add(&archive, data, len);
    buf_add(&archive, zeros, -len % TAR_BLOCK);
}

struct made {
    char type;
    const char *name, *link, *content;
    const char *mode, *size; /* the fields; NULL: 644, and what the content has */
};

static void add(struct made made)
{
    struct tar_header header = { .type = made.type, .magic = "ustar", .version = { '0', '0' } };
    size_t len = made.content ? strlen(made.content) : 0;

    memcpy(header.name, made.name, strnlen(made.name, sizeof(header.name)));
    if (made.link)
        memcpy(header.link, made.link, strnlen(made.link, sizeof(header.link)));
    snprintf(header.mode, sizeof(header.mode), "%s", made.mode ? made.mode : "0000644");
    if (made.size)
        memcpy(header.size, made.size, sizeof(header.size));
    else
        snprintf(header.size, sizeof(header.size), "%011o", (unsigned int)len);
    snprintf(header.mtime, sizeof(header.mtime), "%011o", 1000);
    seal(&header);
    buf_add(&archive, &header, sizeof(header));
    add_block(made.content ? made.content : "", len);
}

#define ADD(kind, path, ...) add((struct made){ .type = (kind), .name = (path), ##__VA_ARGS__ })

static void finish(void)
{
    static const char end[2 * TAR_BLOCK];

    buf_add(&archive, end, sizeof(end));
}

static int memory_of(const struct buf *data)
{
    int fd = memfd_create("archive", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, data->data, data->len), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static struct tar_source source;

static int unpack(sbr_error *err)
{
    int tree_fd = tree_open(&place, "b"), r;

    source.fd = memory_of(&archive);
    if (!source.max_bytes)
        source.max_bytes = 1 << 20;
    if (!source.max_entries)
        source.max_entries = 100;
    r = tar_read(tree_fd, &source, err);
    close(tree_fd);
    close(source.fd);
    source.max_bytes = source.max_entries = 0;
    return r;
}

static void assert_unpacks(const char *lines)
{
    sbr_error err = { 0 };
    char *told;

    finish();
    if (unpack(&err) < 0)
        fail_msg("%s", err.message);
    told = tree_tell(tree_at(&place, "b"), false);
    assert_string_equal(told, lines);
    free(told);
}

static void assert_refuses(const char *part)
{
    sbr_error err = { 0 };

    finish();
    assert_refused(unpack(&err), &err, SBR_E_INVALID, part);
    buf_done(&archive);
    buf_init(&archive, 64 << 20);
}

static void what_was_written_is_read_again(void **state)
{
    int a = tree_open(&place, "a"), fd = memfd_create("x", MFD_CLOEXEC);
    char name[300], deep[200] = "f ";
    char *before, *after;
    sbr_error err = { 0 };

    (void)state;
    tree_make(tree_at(&place, "a"),
              "d dir 750\nf dir/file 640 text\nf run 755 x\nl link ../../etc\nd empty 700\n"
              "f zero 600 \nd shut 700\nf shut/in 400 y\nl abs /etc/passwd\n");
    memset(name, 'n', 150);
    snprintf(name + 150, 20, "\xff\n\x1b[31m\xc3\xb6 \\ ");
    tree_write(tree_at(&place, "a"), name, "long and odd");
    snprintf(deep, sizeof(deep), "dir/%.*s", 120,
             "ddddddddddddddddddddddddddddddddddddddddddddddddd"
             "ddddddddddddddddddddddddddddddddddddddddddddddddd");
    assert_int_equal(symlinkat(name, a, "long-link"), 0);
    assert_int_equal(fchmodat(a, "shut", 0500, 0), 0);
    tree_write(tree_at(&place, "a"), deep, "z");
    if (tar_write(a, fd, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    source = (struct tar_source){ .fd = fd, .max_bytes = 1 << 20, .max_entries = 100 };
    close(a);
    a = tree_open(&place, "b");
    if (tar_read(a, &source, &err) < 0)
        fail_msg("%s", err.message);
    before = tree_tell(tree_at(&place, "a"), true);
    after = tree_tell(tree_at(&place, "b"), true);
    assert_string_equal(after, before);
    source = (struct tar_source){ 0 };
    free(before);
    free(after);
    close(a);
    close(fd);
}

static void holes_stay_holes_and_take_nothing(void **state)
{
    int a = tree_open(&place, "a"), b = tree_open(&place, "b"), fd, file;
    sbr_error err = { 0 };
    struct stat st;
    char end[4];

    (void)state;
    file = openat(a, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(pwrite(file, "end", 3, (32 << 20) - 3), 3);
    close(file);
    fd = memfd_create("x", MFD_CLOEXEC);
    assert_int_equal(tar_write(a, fd, &err), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    source = (struct tar_source){ .fd = fd, .max_bytes = 4096, .max_entries = 1 };
    if (tar_read(b, &source, &err) < 0)
        fail_msg("%s", err.message);
    file = openat(b, "sparse", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(file, &st), 0);
    assert_int_equal(st.st_size, 32 << 20);
    assert_true(st.st_blocks < 64);
    assert_int_equal(pread(file, end, 3, (32 << 20) - 3), 3);
    assert_memory_equal(end, "end", 3);
    source = (struct tar_source){ 0 };
    close(file);
    close(fd);
    close(a);
    close(b);
}

static void plain_entries_are_made(void **state)
{
    (void)state;
    ADD('5', "./", .mode = "0000700");
    ADD('5', "./d/", .mode = "0000555");
    ADD('0', "./d//./f", .content = "text", .mode = "0006755");
    ADD('\0', "old", .content = "v");
    ADD('\0', "olddir/");
    ADD('1', "d/same", .link = "./d/f");
    ADD('2', "l", .link = "/etc/passwd");
    ADD('0', "implied/deep/x", .content = "1");
    ADD('3', "dev/null");
    ADD('6', "pipe");
    assert_unpacks("d d 555\nf d/f 755 text\nf d/same 755 text\nd implied 755\nd implied/deep 755\n"
                   "f implied/deep/x 644 1\nl l /etc/passwd\nf old 644 v\nd olddir 644\n");
    assert_int_equal(source.left_out.n, 2);
    assert_string_equal(source.left_out.first, "dev/null");
}

static void extensions_are_understood(void **state)
{
    static const char gnu_size[12] = "\x80\0\0\0\0\0\0\0\0\0\0\1";
    struct tar_header header = {
        .name = "named", .type = '5', .magic = "ustar", .prefix = "before"
    };

    (void)state;
    ADD('g', "g", .content = "18 comment=git xy\n");
    ADD('x', "x", .content = "15 path=pa/x=y\n14 mtime=5.25\n");
    ADD('0', "ignored", .content = "A");
    ADD('x', "x", .content = "15 linkpath=to\n");
    ADD('2', "link", .link = "ignored");
    ADD('0', "b256", .content = "B", .size = gnu_size);
    memcpy(header.size, "00000000000", 11);
    memcpy(header.mode, "0000700", 7);
    seal(&header);
    buf_add(&archive, &header, sizeof(header));
    ADD('L', "././@LongLink", .content = "n/long", .size = "00000000007");
    ADD('0', "n/lo", .content = "C");
    assert_unpacks("f b256 644 B\nd before 755\nd before/named 700\nl link to\nd n 755\n"
                   "f n/long 644 C\nd pa 755\nf pa/x=y 644 A\n");
}

static void names_that_lead_out_are_refused(void **state)
{
    (void)state;
    ADD('0', "/etc/x", .content = "x");
    assert_refuses("absolute path");
    ADD('0', "a/../../x", .content = "x");
    assert_refuses("'..'");
    ADD('0', "..", .content = "x");
    assert_refuses("'..'");
    ADD('5', "../");
    assert_refuses("'..'");
    ADD('2', "l1", .link = "/tmp");
    ADD('0', "l1/x", .content = "x");
    assert_refuses("through a link");
    ADD('2', "l2", .link = ".");
    ADD('5', "l2/x/");
    assert_refuses("through a link");
    ADD('0', "f", .content = "x");
    ADD('0', "f/x", .content = "x");
    assert_refuses("through a link or a file");
    ADD('0', "", .content = "x");
    assert_refuses("without a name");
}

static void hard_links_stay_inside(void **state)
{
    (void)state;
    ADD('1', "h1", .link = "/etc/passwd");
    assert_refuses("leads out");
    ADD('1', "h2", .link = "../x");
    assert_refuses("leads out");
    ADD('1', "h3", .link = "later");
    assert_refuses("no file in it");
    ADD('2', "l", .link = "/etc");
    ADD('1', "h4", .link = "l/passwd");
    assert_refuses("no file in it");
    ADD('2', "l5", .link = "/etc/passwd");
    ADD('1', "h5", .link = "l5");
    assert_refuses("no file in it");
    ADD('5', "d6/");
    ADD('1', "h6", .link = "d6");
    assert_refuses("no file in it");
}

static void names_come_once(void **state)
{
    (void)state;
    ADD('0', "f", .content = "x");
    ADD('0', "./f", .content = "y");
    assert_refuses("two entries");
    ADD('2', "l", .link = "/etc/passwd");
    ADD('0', "l", .content = "y");
    assert_refuses("two entries");
    ADD('2', "m", .link = "/etc");
    ADD('5', "m/");
    assert_refuses("two entries");
    ADD('5', "d/", .mode = "0000700");
    ADD('0', "d/x", .content = "y");
    ADD('5', "d/", .mode = "0000000");
    finish();
    sbr_error err = { 0 };
    assert_int_equal(unpack(&err), 0);
}

static void sizes_are_numbers(void **state)
{
    (void)state;
    ADD('0', "f", .size = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    assert_refuses("negative");
    ADD('0', "f", .size = "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    assert_refuses("no number");
    ADD('0', "f", .size = "-0000000001");
    assert_refuses("no number");
    ADD('0', "f", .size = "0000000001x");
    assert_refuses("no number");
    ADD('0', "f", .size = "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff");
    assert_refuses("ends in the middle");
    ADD('5', "d/", .size = "00000000001", .content = "x");
    assert_refuses("where none belongs");
    ADD('x', "x", .content = "11 size=-1\n");
    ADD('0', "f");
    assert_refuses("negative");
    ADD('x', "x", .content = "30 size=99999999999999999999\n");
    ADD('0', "f");
    assert_refuses("not whole");
    ADD('x', "x", .content = "29 size=99999999999999999999\n");
    ADD('0', "f");
    assert_refuses("no number");
}

static void bad_extensions_are_refused(void **state)
{
    static const struct {
        const char *records, *says;
    } rows[] = {
        { "99 path=x\n", "not whole" },
        { "path=x\n", "not whole" },
        { "3 x\n", "not whole" },
        { "9 path=xx", "not whole" },
        { "5 =x\n\n", "not whole" },
        { "8 path=\n", "empty name" },
        { "11 path=..\n", "'..'" },
        { "13 mtime=x.y\n", "no number" },
        { "22 GNU.sparse.major=1\n", "--sparse" },
        { "0 \n", "not whole" },
        { "2 \n", "not whole" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ADD('x', "x", .content = rows[i].records);
        ADD('0', "f", .content = "y");
        assert_refuses(rows[i].says);
    }
    ADD('g', "g", .content = "10 path=ab\n");
    assert_refuses("not whole");
    ADD('g', "g", .content = "11 path=ab\n");
    assert_refuses("to all");
    ADD('x', "x", .content = "11 path=ab\n");
    assert_refuses("ends behind");
    ADD('x', "x", .size = "00100000000");
    assert_refuses("too long");
    ADD('S', "sparse", .content = "x");
    assert_refuses("not known");
}

static void what_is_no_archive_is_told(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        const char *says;
    } rows[] = {
        { "\x1f\x8b\x08", 3, "gzip -dc" },
        { "\x28\xb5\x2f\xfd", 4, "zstd -dc" },
        { "\xfd"
          "7zXZ\0",
          6, "xz -dc" },
        { "BZh9", 4, "bzip2" },
        { "hello", 5, "ends in the middle" },
    };
    sbr_error err;

    (void)state;
    assert_refused(unpack(&err), &err, SBR_E_INVALID, "is empty");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_add(&archive, rows[i].data, rows[i].len);
        assert_refused(unpack(&err), &err, SBR_E_INVALID, rows[i].says);
        buf_drop(&archive, archive.len);
    }
    for (int i = 0; i < 600; i++)
        buf_add(&archive, "x", 1);
    assert_refused(unpack(&err), &err, SBR_E_INVALID, "no tar archive");
}

static void whatever_is_cut_off_is_refused(void **state)
{
    size_t whole;
    sbr_error err;

    (void)state;
    ADD('0', "f", .content = "some text");
    whole = archive.len;
    for (size_t len = 1; len <= whole; len += 73) {
        archive.len = len;
        assert_refused(unpack(&err), &err, SBR_E_INVALID, "ends in the middle");
        unlinkat(place.top_fd, "b/f", 0);
        archive.len = whole;
    }
    archive.data[10] = 'y'; /* a name that the sum does not know */
    finish();
    assert_refused(unpack(&err), &err, SBR_E_INVALID, "sum of a header");
}

static void quotas_hold(void **state)
{
    char text[5000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    ADD('0', "f", .content = text);
    source.max_bytes = 4096;
    assert_refuses("--disk");
    assert_int_equal(unlinkat(place.top_fd, "b/f", 0), 0);
    ADD('0', "f", .content = text);
    ADD('1', "g", .link = "f");
    source.max_bytes = 3 * 4096;
    assert_refuses("--disk");
    ADD('0', "p/q/r/s", .content = "x");
    source.max_entries = 3;
    assert_refuses("--inodes");
}

#define TAR_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TAR_TEST(what_was_written_is_read_again),
        TAR_TEST(holes_stay_holes_and_take_nothing),
        TAR_TEST(plain_entries_are_made),
        TAR_TEST(extensions_are_understood),
        TAR_TEST(names_that_lead_out_are_refused),
        TAR_TEST(hard_links_stay_inside),
        TAR_TEST(names_come_once),
        TAR_TEST(sizes_are_numbers),
        TAR_TEST(bad_extensions_are_refused),
        TAR_TEST(what_is_no_archive_is_told),
        TAR_TEST(whatever_is_cut_off_is_refused),
        TAR_TEST(quotas_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
