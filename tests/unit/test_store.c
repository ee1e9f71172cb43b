#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/tree_remove.h"
#include "unit.h"

#define MAKERS 8
#define ROUNDS 25
#define CANNOT_TRY 77

static char top[64], cache[80];

static int make_place(void **state)
{
    (void)state;
    snprintf(top, sizeof(top), "/tmp/sbr-store-XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(cache, sizeof(cache), "%s/cache", top);
    unsetenv("SANDBOX_RUN_CACHE_MAX");
    return setenv("SANDBOX_RUN_CACHE", cache, 1);
}

static int remove_place(void **state)
{
    (void)state;
    return tree_remove(AT_FDCWD, top);
}

/* 64 digits, different for each name. */
static const char *key_of(const char *name)
{
    static char key[SHA256_HEX_SIZE];

    sha256_hex(name, strlen(name), key);
    return key;
}

static const char *below(const char *base, const char *name)
{
    static char path[2 * STORE_PATH_SIZE];

    snprintf(path, sizeof(path), "%s/%s", base, name);
    return path;
}

static void write_at(int dir_fd, const char *name, const char *text, mode_t mode)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void stage(enum store_kind kind, struct store_staging *staging)
{
    sbr_error err;

    if (store_stage(kind, staging, &err) != 0)
        fail_msg("%s", err.message);
}

/* An entry with one file `main`.  Without assertions, which mean nothing in a child. */
static int try_keep(enum store_kind kind, const char *name, const char *text,
                    struct store_entry *ret, sbr_error *err)
{
    struct store_staging staging;
    int fd;

    if (store_stage(kind, &staging, err) < 0)
        return err->code;
    fd = openat(staging.tree_fd, "main", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
        return err_set_errno(err, "test", "cannot write the tree");
    close(fd);
    return store_commit(&staging, key_of(name), name, ret, err);
}

static struct store_entry keep(enum store_kind kind, const char *name, const char *text)
{
    struct store_entry entry;
    sbr_error err;

    if (try_keep(kind, name, text, &entry, &err) != 0)
        fail_msg("%s", err.message);
    return entry;
}

static int find(enum store_kind kind, const char *name, struct store_entry *entry)
{
    sbr_error err;
    int r = store_find(kind, key_of(name), entry, &err);

    if (r < 0)
        fail_msg("%s", err.message);
    return r;
}

static bool is_kept(enum store_kind kind, const char *name)
{
    struct store_entry entry;
    sbr_error err;

    return store_find(kind, key_of(name), &entry, &err) == STORE_SOUND;
}

static void assert_content(const struct store_entry *entry, const char *text)
{
    char found[100];

    assert_true(fd_read_small(AT_FDCWD, below(entry->path, "main"), found, sizeof(found)) >= 0);
    assert_string_equal(found, text);
}

static size_t count_in(const char *name)
{
    DIR *dir = opendir(below(cache, name));
    size_t n = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static char *meta_of(const struct store_entry *entry)
{
    static char path[STORE_PATH_SIZE];

    snprintf(path, sizeof(path), "%.*smeta", (int)(strlen(entry->path) - strlen("tree")),
             entry->path);
    return path;
}

static void set_used(const struct store_entry *entry, time_t when)
{
    const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

    assert_int_equal(utimensat(AT_FDCWD, meta_of(entry), times, 0), 0);
}

/* The same length and the same modification time, as somebody would do it who hides. */
static void tamper(const struct store_entry *entry, const char *text)
{
    const char *path = below(entry->path, "main");
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, strlen(text));
    write_at(AT_FDCWD, path, text, st.st_mode & 07777);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ st.st_atim, st.st_mtim }, 0),
                     0);
}

static void looking_makes_nothing(void **state)
{
    struct store_entry entry;
    char note[8];

    (void)state;
    assert_int_equal(find(STORE_ARTIFACT, "a", &entry), 0);
    assert_int_equal(store_note_read("n", note, sizeof(note)), -1);
    assert_int_equal(access(cache, F_OK), -1);
}

static void what_was_kept_is_found(void **state)
{
    struct store_entry made = keep(STORE_ARTIFACT, "a", "hello"), found;
    struct stat st;

    (void)state;
    assert_int_equal(find(STORE_ARTIFACT, "a", &found), 1);
    assert_string_equal(found.path, made.path);
    assert_string_equal(found.key, key_of("a"));
    assert_content(&found, "hello");
    assert_false(is_kept(STORE_LAYER, "a"));
    assert_false(is_kept(STORE_ARTIFACT, "b"));
    assert_int_equal(stat(cache, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(count_in("staging"), 0);
}

static void modes_are_readable_for_all_and_writable_for_us(void **state)
{
    static const struct {
        const char *name;
        mode_t given, kept;
    } rows[] = {
        { "plain", 0600, 0644 },  { "locked", 0000, 0644 }, { "program", 0100, 0755 },
        { "setid", 06777, 0755 }, { "open", 0666, 0644 },
    };
    struct store_staging staging;
    struct store_entry entry;
    struct stat st;
    sbr_error err;

    (void)state;
    stage(STORE_LAYER, &staging);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        write_at(staging.tree_fd, rows[i].name, "x", rows[i].given);
    assert_int_equal(mkdirat(staging.tree_fd, "dir", 0000), 0);
    assert_int_equal(store_commit(&staging, key_of("m"), "", &entry, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(stat(below(entry.path, rows[i].name), &st), 0);
        assert_int_equal(st.st_mode & 07777, rows[i].kept);
    }
    assert_int_equal(stat(below(entry.path, "dir"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(stat(entry.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
}

static void the_first_of_two_makers_wins(void **state)
{
    struct store_staging first, second;
    struct store_entry entry;
    sbr_error err;

    (void)state;
    stage(STORE_LAYER, &first);
    stage(STORE_LAYER, &second);
    write_at(first.tree_fd, "main", "first", 0644);
    write_at(second.tree_fd, "main", "second", 0644);
    assert_int_equal(store_commit(&first, key_of("l"), "", &entry, &err), 0);
    assert_content(&entry, "first");
    assert_int_equal(store_commit(&second, key_of("l"), "", &entry, &err), 0);
    assert_content(&entry, "first");
    assert_int_equal(count_in("staging"), 0);
}

static void a_damaged_entry_does_not_win(void **state)
{
    struct store_staging staging;
    struct store_entry entry;
    sbr_error err;

    (void)state;
    stage(STORE_ARTIFACT, &staging);
    write_at(staging.tree_fd, "main", "again", 0644);
    entry = keep(STORE_ARTIFACT, "a", "hello");
    assert_int_equal(truncate(meta_of(&entry), 10), 0);
    assert_int_equal(store_commit(&staging, key_of("a"), "", &entry, &err), 0);
    assert_content(&entry, "again");
}

/* In a process of its own: 0 when every round ended with a whole entry. */
static int make_and_look(int go_fd)
{
    struct store_entry entry;
    sbr_error err;
    char name[8], byte;

    if (read(go_fd, &byte, 1) != 0) /* the end of file is the start */
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        char found[16];

        snprintf(name, sizeof(name), "r%d", round);
        if (try_keep(STORE_ARTIFACT, name, "the same", &entry, &err) < 0) {
            print_error("round %d: %s\n", round, err.message);
            return 2;
        }
        if (store_find(STORE_ARTIFACT, key_of(name), &entry, &err) != STORE_SOUND)
            return 3;
        if (fd_read_small(AT_FDCWD, below(entry.path, "main"), found, sizeof(found)) != 8)
            return 4;
    }
    return 0;
}

static void makers_at_the_same_time_leave_one_whole_entry(void **state)
{
    pid_t makers[MAKERS];
    int go[2], status;

    (void)state;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    for (int i = 0; i < MAKERS; i++) {
        makers[i] = fork();
        if (makers[i] == 0) {
            close(go[1]);
            _exit(make_and_look(go[0]));
        }
    }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < MAKERS; i++) {
        assert_int_equal(waitpid(makers[i], &status, 0), makers[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_in("artifact"), ROUNDS);
    assert_int_equal(count_in("staging"), 0);
}

static void an_artifact_that_was_changed_is_gone(void **state)
{
    struct store_entry entry = keep(STORE_ARTIFACT, "a", "hello");

    (void)state;
    tamper(&entry, "jello");
    assert_false(is_kept(STORE_ARTIFACT, "a"));
    assert_int_equal(count_in("artifact"), 0);
    assert_int_equal(count_in("staging"), 0);

    entry = keep(STORE_ARTIFACT, "a", "hello");
    write_at(AT_FDCWD, below(entry.path, "more"), "added", 0644);
    assert_false(is_kept(STORE_ARTIFACT, "a"));

    entry = keep(STORE_ARTIFACT, "a", "hello");
    assert_int_equal(chmod(below(entry.path, "main"), 04755), 0);
    assert_false(is_kept(STORE_ARTIFACT, "a"));

    entry = keep(STORE_ARTIFACT, "a", "hello");
    assert_int_equal(unlink(below(entry.path, "main")), 0);
    assert_int_equal(symlink("/etc/passwd", below(entry.path, "main")), 0);
    assert_false(is_kept(STORE_ARTIFACT, "a"));
    assert_int_equal(count_in("artifact"), 0);
}

static void an_artifact_with_the_right_content_stays(void **state)
{
    struct store_entry entry = keep(STORE_ARTIFACT, "a", "hello");
    struct stat before, after;

    (void)state;
    tamper(&entry, "hello");
    assert_int_equal(stat(meta_of(&entry), &before), 0);
    assert_true(is_kept(STORE_ARTIFACT, "a"));
    assert_int_equal(stat(meta_of(&entry), &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino); /* it was read, and is known again */
    assert_true(is_kept(STORE_ARTIFACT, "a"));
    assert_int_equal(stat(meta_of(&entry), &before), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void an_artifact_is_read_once_after_the_machine_was_started(void **state)
{
    struct store_entry entry = keep(STORE_ARTIFACT, "a", "hello");
    struct stat before, after;

    (void)state;
    set_used(&entry, 1000000000);
    assert_int_equal(stat(meta_of(&entry), &before), 0);
    assert_true(is_kept(STORE_ARTIFACT, "a"));
    assert_int_equal(stat(meta_of(&entry), &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);
    assert_true(after.st_mtime > 1000000000);
}

static void a_layer_is_compared_once_after_the_machine_was_started(void **state)
{
    struct store_entry entry = keep(STORE_LAYER, "l", "hello");

    (void)state;
    assert_int_equal(truncate(below(entry.path, "main"), 0), 0); /* what a crash would do */
    assert_true(is_kept(STORE_LAYER, "l"));
    set_used(&entry, 1000000000);
    assert_false(is_kept(STORE_LAYER, "l"));
    assert_int_equal(count_in("layer"), 0);
}

static void a_layer_without_its_tree_is_gone(void **state)
{
    struct store_entry entry = keep(STORE_LAYER, "l", "hello");

    (void)state;
    assert_int_equal(tree_remove(AT_FDCWD, entry.path), 0);
    assert_int_equal(symlink("/", entry.path), 0);
    assert_false(is_kept(STORE_LAYER, "l"));
    assert_int_equal(access("/usr", F_OK), 0);
}

static void verification_reads_layers_too(void **state)
{
    struct store_entry entry = keep(STORE_LAYER, "l", "hello");
    sbr_error err;

    (void)state;
    assert_int_equal(store_verify(STORE_LAYER, key_of("l"), &err), STORE_SOUND);
    tamper(&entry, "jello");
    assert_true(is_kept(STORE_LAYER, "l"));
    assert_int_equal(store_verify(STORE_LAYER, key_of("l"), &err), STORE_ABSENT);
    assert_int_equal(store_verify(STORE_LAYER, key_of("l"), &err), STORE_ABSENT);
    assert_false(is_kept(STORE_LAYER, "l"));
}

static void a_meta_cut_off_anywhere_is_noticed(void **state)
{
    struct stat st;

    (void)state;
    for (enum store_kind kind = STORE_ARTIFACT; kind <= STORE_LAYER; kind++) {
        struct store_entry entry = keep(kind, "a", "hello");

        assert_int_equal(stat(meta_of(&entry), &st), 0);
        for (off_t len = 0; len < st.st_size; len += 7) {
            entry = keep(kind, "a", "hello");
            assert_int_equal(truncate(meta_of(&entry), len), 0);
            assert_false(is_kept(kind, "a"));
        }
    }
}

/* Of a layer only the header counts here: its list is not read. */
static void a_meta_with_a_wrong_byte_is_noticed(void **state)
{
    char data[2048], wrong;

    (void)state;
    for (ssize_t at = 0, len = 1; at < len; at += 3) {
        struct store_entry entry = keep(STORE_ARTIFACT, "a", "hello");
        int fd = open(meta_of(&entry), O_RDWR | O_CLOEXEC);

        len = pread(fd, data, sizeof(data), 0);
        assert_true(len > 200 && len < (ssize_t)sizeof(data));
        wrong = (char)(data[at] ^ 0x20);
        assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
        close(fd);
        assert_false(is_kept(STORE_ARTIFACT, "a"));
    }
}

static void an_entry_under_the_key_of_another_is_not_believed(void **state)
{
    char from[200], to[200];

    (void)state;
    keep(STORE_ARTIFACT, "a", "hello");
    snprintf(from, sizeof(from), "%s/artifact/%s", cache, key_of("a"));
    snprintf(to, sizeof(to), "%s/artifact/%s", cache, key_of("b"));
    assert_int_equal(rename(from, to), 0);
    assert_false(is_kept(STORE_ARTIFACT, "b"));
}

static bool map_id(const char *path, unsigned int id)
{
    char map[64];

    snprintf(map, sizeof(map), "%u %u 1", id, id);
    return fd_write_small(AT_FDCWD, path, map) == 0;
}

/* Mount namespaces of an ordinary user come with a user namespace, in which he stays himself. */
static bool mount_small_disk(void)
{
    unsigned int uid = geteuid(), gid = getegid();

    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
        return false;
    if (uid != 0 && (fd_write_small(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
                     !map_id("/proc/self/uid_map", uid) || !map_id("/proc/self/gid_map", gid)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("small", top, "tmpfs", 0, "size=256k,mode=700") == 0;
}

/* Runs `child` where the cache is on a disk of 256 KiB; it returns 0, or where it failed. */
static void on_small_disk(int (*child)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(mount_small_disk() ? child() : CANNOT_TRY);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT_TRY)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int fill_and_commit(void)
{
    static char block[4096];
    struct store_staging staging;
    struct store_entry entry;
    sbr_error err;
    int fd;

    if (try_keep(STORE_ARTIFACT, "a", "hello", &entry, &err) < 0 ||
        store_stage(STORE_ARTIFACT, &staging, &err) < 0)
        return 4;
    fd = openat(staging.tree_fd, "main", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof(block)) > 0)
        continue;
    if (errno != ENOSPC)
        return CANNOT_TRY;
    close(fd);
    if (store_commit(&staging, key_of("full"), "", &entry, &err) != SBR_E_SYSTEM)
        return 1;
    if (!strstr(err.message, "No space left") || !strstr(err.message, "sandbox-run cache clear"))
        return 2;
    if (count_in("staging") != 0 || count_in("artifact") != 1 || !is_kept(STORE_ARTIFACT, "a"))
        return 3;
    return 0;
}

static void a_full_disk_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    on_small_disk(fill_and_commit);
}

static int clear_full_disk(void)
{
    static char block[4096];
    struct store_entry entry;
    sbr_error err;
    int fd = open(below(top, "filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (try_keep(STORE_ARTIFACT, "a", "hello", &entry, &err) < 0)
        return 4;
    while (write(fd, block, sizeof(block)) > 0)
        continue;
    set_used(&entry, 1000000000);
    if (!is_kept(STORE_ARTIFACT, "a")) /* its meta cannot be written anew, but it is sound */
        return 1;
    if (store_remove(STORE_ARTIFACT, key_of("a"), &err) != 0 || count_in("artifact") != 0)
        return 2;
    return 0;
}

static void a_full_disk_can_be_used_and_cleared(void **state)
{
    (void)state;
    on_small_disk(clear_full_disk);
}

static int use_read_only_disk(void)
{
    struct store_staging staging;
    struct store_entry entry;
    sbr_error err;

    if (try_keep(STORE_ARTIFACT, "a", "hello", &entry, &err) < 0)
        return 4;
    set_used(&entry, 1000000000);
    if (mount(NULL, top, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return CANNOT_TRY;
    if (!is_kept(STORE_ARTIFACT, "a"))
        return 1;
    store_note_write("n", "text"); /* in vain, without complaint */
    if (store_stage(STORE_ARTIFACT, &staging, &err) != SBR_E_SYSTEM)
        return 2;
    if (!strstr(err.message, "Read-only") || !strstr(err.message, "SANDBOX_RUN_CACHE"))
        return 3;
    return 0;
}

static void a_read_only_disk_can_be_read(void **state)
{
    (void)state;
    on_small_disk(use_read_only_disk);
}

static void a_cache_of_somebody_else_is_refused(void **state)
{
    struct store_entry entry;
    sbr_error err;
    int r;

    (void)state;
    if (geteuid() == 0) {
        assert_int_equal(mkdir(cache, 0700), 0);
        assert_int_equal(chown(cache, 65534, 65534), 0);
    } else {
        setenv("SANDBOX_RUN_CACHE", "/usr", 1);
    }
    r = store_find(STORE_ARTIFACT, key_of("a"), &entry, &err);
    assert_refused(r, &err, SBR_E_DENIED, "set SANDBOX_RUN_CACHE");
}

static void a_cache_that_others_can_write_to_is_refused(void **state)
{
    struct store_entry entry;
    sbr_error err;

    (void)state;
    assert_int_equal(mkdir(cache, 0700), 0);
    assert_int_equal(chmod(cache, 0770), 0);
    assert_refused(store_find(STORE_ARTIFACT, key_of("a"), &entry, &err), &err, SBR_E_DENIED,
                   "chmod 700");
}

static void places_and_keys_that_are_none_are_refused(void **state)
{
    struct store_staging staging;
    struct store_entry entry;
    sbr_error err;

    (void)state;
    assert_refused(store_find(STORE_ARTIFACT, "../../etc", &entry, &err), &err, SBR_E_INVALID,
                   "not the key");
    setenv("SANDBOX_RUN_CACHE", "relative", 1);
    assert_refused(store_stage(STORE_ARTIFACT, &staging, &err), &err, SBR_E_INVALID, "absolute");
    setenv("SANDBOX_RUN_CACHE", below(top, "file/cache"), 1);
    write_at(AT_FDCWD, below(top, "file"), "", 0600);
    assert_refused(store_stage(STORE_ARTIFACT, &staging, &err), &err, SBR_E_SYSTEM,
                   "Not a directory");
    setenv("SANDBOX_RUN_CACHE", cache, 1);
    setenv("SANDBOX_RUN_CACHE_MAX", "much", 1);
    assert_refused(store_stage(STORE_ARTIFACT, &staging, &err), &err, SBR_E_INVALID, "500m");
}

static void the_environment_says_where_it_is(void **state)
{
    char path[STORE_PATH_SIZE];
    sbr_error err;

    (void)state;
    unsetenv("SANDBOX_RUN_CACHE");
    setenv("XDG_CACHE_HOME", below(top, "xdg"), 1);
    setenv("HOME", top, 1);
    assert_int_equal(store_path(path, sizeof(path), &err), 0);
    assert_string_equal(path, below(top, "xdg/sandbox-run"));
    setenv("XDG_CACHE_HOME", "relative", 1); /* the specification says to ignore it */
    assert_int_equal(store_path(path, sizeof(path), &err), 0);
    assert_string_equal(path, below(top, ".cache/sandbox-run"));
    assert_int_equal(access(below(top, ".cache"), F_OK), -1);
    keep(STORE_ARTIFACT, "a", "hello");
    assert_int_equal(access(below(top, ".cache/sandbox-run/artifact"), F_OK), 0);
    assert_true(is_kept(STORE_ARTIFACT, "a"));
    if (geteuid() == 0) { /* sudo that kept HOME: nothing is made in somebody else's */
        assert_int_equal(mkdir(below(top, "other"), 0755), 0);
        assert_int_equal(chown(below(top, "other"), 65534, 65534), 0);
        setenv("HOME", below(top, "other"), 1);
    } else {
        setenv("HOME", "/usr", 1);
    }
    assert_int_equal(store_path(path, sizeof(path), &err), 0);
    assert_memory_equal(path, "/var/tmp/sandbox-run-", 21);
    unsetenv("XDG_CACHE_HOME");
}

static void keep_sized(const char *name, size_t size, time_t used)
{
    static char text[400000];
    struct store_entry entry;

    assert_true(size < sizeof(text));
    memset(text, 'x', size);
    text[size] = '\0';
    entry = keep(STORE_ARTIFACT, name, text);
    if (used)
        set_used(&entry, used);
}

static void the_least_recently_used_artifacts_go_first(void **state)
{
    time_t now = time(NULL);
    struct stat st;

    (void)state;
    setenv("SANDBOX_RUN_CACHE_MAX", "1m", 1);
    keep_sized("a", 300000, now - 3000);
    keep_sized("b", 300000, now - 5000);
    keep_sized("c", 300000, now - 4000);
    keep(STORE_LAYER, "layer", "not counted, not removed");
    assert_int_equal(count_in("artifact"), 3);
    keep_sized("d", 300000, 0);
    assert_int_equal(count_in("artifact"), 2); /* to nine tenths: b and c */
    assert_true(is_kept(STORE_ARTIFACT, "a") && is_kept(STORE_ARTIFACT, "d"));
    assert_true(is_kept(STORE_LAYER, "layer"));
    assert_int_equal(stat(below(cache, "staging"), &st), 0);
}

static void what_may_be_running_stays_up_to_twice_the_bound(void **state)
{
    (void)state;
    setenv("SANDBOX_RUN_CACHE_MAX", "600k", 1);
    for (char name[2] = "a"; name[0] <= 'c'; name[0]++)
        keep_sized(name, 300000, 0);
    assert_int_equal(count_in("artifact"), 3);
    for (char name[2] = "d"; name[0] <= 'h'; name[0]++)
        keep_sized(name, 300000, 0);
    assert_true(count_in("artifact") <= 4);
    assert_true(is_kept(STORE_ARTIFACT, "h"));
}

static void a_use_is_marked_once_a_minute(void **state)
{
    struct store_entry entry = keep(STORE_ARTIFACT, "a", "hello");
    time_t now = time(NULL);
    struct stat st;

    (void)state;
    set_used(&entry, now - 30);
    assert_true(is_kept(STORE_ARTIFACT, "a"));
    assert_int_equal(stat(meta_of(&entry), &st), 0);
    assert_int_equal(st.st_mtime, now - 30);
    set_used(&entry, now + 3000); /* the clock was set back */
    assert_true(is_kept(STORE_ARTIFACT, "a"));
    assert_int_equal(stat(meta_of(&entry), &st), 0);
    assert_in_range(st.st_mtime, now - 1, now + 60);
}

static void what_dead_makers_left_is_removed(void **state)
{
    struct store_staging living, other;
    int status, fd;
    sbr_error err;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        stage(STORE_LAYER, &other);
        write_at(other.tree_fd, "main", "half", 0600);
        _exit(store_lock(STORE_LAYER, key_of("l"), &fd, &err) != STORE_LOCKED);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(count_in("staging"), 1);
    assert_int_equal(count_in("lock"), 1);
    stage(STORE_LAYER, &living);
    assert_int_equal(count_in("staging"), 1);
    assert_int_equal(count_in("lock"), 0);
    stage(STORE_LAYER, &other);
    assert_int_equal(count_in("staging"), 2); /* one that lives is left alone */
    store_discard(&living);
    store_discard(&other);
    store_discard(&other);
    assert_int_equal(count_in("staging"), 0);
}

static void one_makes_and_the_others_wait(void **state)
{
    int ready[2], fd, status;
    sbr_error err;
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        if (store_lock(STORE_LAYER, key_of("l"), &fd, &err) != STORE_LOCKED ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(store_lock(STORE_LAYER, key_of("l"), &fd, &err), STORE_BUSY);
    assert_int_equal(store_sweep(&err), 0);
    assert_int_equal(store_lock(STORE_LAYER, key_of("l"), &fd, &err), STORE_BUSY);
    assert_int_equal(store_lock(STORE_LAYER, key_of("m"), &fd, &err), STORE_LOCKED);
    close(fd);
    kill(pid, SIGKILL); /* its lock goes with it */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(store_lock(STORE_LAYER, key_of("l"), &fd, &err), STORE_LOCKED);
    close(fd);
    close(ready[0]);
    close(ready[1]);
}

static void notes_are_whole_or_not_there(void **state)
{
    char path[200], hex[SHA256_HEX_SIZE], buf[100];
    const char *name = "/usr/bin/python3 version";

    (void)state;
    store_note_write(name, "3.11.2");
    assert_int_equal(store_note_read(name, buf, sizeof(buf)), 6);
    assert_string_equal(buf, "3.11.2");
    store_note_write(name, "");
    assert_int_equal(store_note_read(name, buf, sizeof(buf)), 0);
    store_note_write(name, "3.12");
    assert_int_equal(store_note_read(name, buf, 5), 4);
    assert_int_equal(store_note_read(name, buf, 4), -1);
    assert_int_equal(store_note_read("another", buf, sizeof(buf)), -1);
    sha256_hex(name, strlen(name), hex);
    snprintf(path, sizeof(path), "%s/note/%s", cache, hex);
    for (off_t len = 67; len >= 0; len--) {
        assert_int_equal(truncate(path, len), 0);
        assert_int_equal(store_note_read(name, buf, sizeof(buf)), -1);
    }
}

static void trees_of_strangers_lead_nowhere(void **state)
{
    struct store_staging staging;
    struct store_entry entry;
    sbr_error err;

    (void)state;
    assert_int_equal(mkdir(below(top, "victim"), 0755), 0);
    write_at(AT_FDCWD, below(top, "victim/file"), "precious", 0600);
    stage(STORE_LAYER, &staging);
    assert_int_equal(symlinkat(below(top, "victim"), staging.tree_fd, "out"), 0);
    assert_int_equal(symlinkat("nowhere", staging.tree_fd, "dangling"), 0);
    assert_int_equal(mkdirat(staging.tree_fd, "locked", 0700), 0);
    assert_int_equal(mkdirat(staging.tree_fd, "locked/inner", 0700), 0);
    assert_int_equal(symlinkat(below(top, "victim"), staging.tree_fd, "locked/inner/out"), 0);
    assert_int_equal(fchmodat(staging.tree_fd, "locked/inner", 0555, 0), 0);
    assert_int_equal(fchmodat(staging.tree_fd, "locked", 0000, 0), 0);
    assert_int_equal(store_commit(&staging, key_of("s"), "", &entry, &err), 0);
    assert_true(is_kept(STORE_LAYER, "s"));
    assert_int_equal(chmod(below(entry.path, "locked/inner"), 0555), 0);
    assert_int_equal(chmod(below(entry.path, "locked"), 0000), 0);
    assert_int_equal(store_remove(STORE_LAYER, key_of("s"), &err), 0);
    assert_int_equal(store_remove(STORE_LAYER, key_of("s"), &err), 0);
    assert_int_equal(count_in("staging"), 0);
    assert_int_equal(access(below(top, "victim/file"), F_OK), 0);
}

static void what_cannot_be_kept_is_said_and_removed(void **state)
{
    struct store_staging staging;
    struct store_entry entry;
    sbr_error err;
    int fd;

    (void)state;
    stage(STORE_LAYER, &staging);
    assert_int_equal(mkfifoat(staging.tree_fd, "pipe", 0600), 0);
    assert_refused(store_commit(&staging, key_of("p"), "", &entry, &err), &err, SBR_E_INVALID,
                   "'tree/pipe' is neither");
    stage(STORE_LAYER, &staging);
    fd = dup(staging.tree_fd);
    for (int depth = 0; depth < 3000; depth++) { /* longer than any path can be */
        int next;

        assert_int_equal(mkdirat(fd, "deep", 0700), 0);
        next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    close(fd);
    assert_refused(store_commit(&staging, key_of("d"), "", &entry, &err), &err, SBR_E_INVALID,
                   "nested");
    assert_int_equal(count_in("staging"), 0);
    assert_int_equal(count_in("layer"), 0);
}

static struct store_item items[4];

static int note_item(void *context, const struct store_item *item)
{
    size_t *n = context;

    assert_true(*n < ARRAY_LEN(items));
    items[(*n)++] = *item;
    return 0;
}

static void the_list_says_what_there_is(void **state)
{
    struct store_entry entry;
    struct store_staging staging;
    sbr_error err;
    size_t n = 0;

    (void)state;
    assert_int_equal(store_list(note_item, &n, &err), 0);
    assert_int_equal(n, 0);
    stage(STORE_LAYER, &staging);
    write_at(staging.tree_fd, "a", "12345", 0644);
    write_at(staging.tree_fd, "b", "1234", 0644);
    assert_int_equal(store_commit(&staging, key_of("l"), "python: x\x1b[31m\n\xff", &entry, &err),
                     0);
    set_used(&entry, 1234567890);
    entry = keep(STORE_ARTIFACT, "old", "x");
    set_used(&entry, 1000);
    entry = keep(STORE_ARTIFACT, "new", "x");
    set_used(&entry, 2000);
    entry = keep(STORE_PREPARED, "broken", "x");
    assert_int_equal(truncate(meta_of(&entry), 5), 0);
    assert_int_equal(store_list(note_item, &n, &err), 0);
    assert_int_equal(n, 4);
    assert_string_equal(items[0].about, "new");
    assert_string_equal(items[1].about, "old");
    assert_string_equal(items[2].about, "python: x?[31m??");
    assert_int_equal(items[2].bytes, 9);
    assert_int_equal(items[2].files, 2);
    assert_int_equal(items[2].used, 1234567890);
    assert_false(items[2].damaged);
    assert_true(items[3].damaged);
    assert_int_equal(items[3].kind, STORE_PREPARED);
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(looking_makes_nothing),
        store_test(what_was_kept_is_found),
        store_test(modes_are_readable_for_all_and_writable_for_us),
        store_test(the_first_of_two_makers_wins),
        store_test(a_damaged_entry_does_not_win),
        store_test(makers_at_the_same_time_leave_one_whole_entry),
        store_test(an_artifact_that_was_changed_is_gone),
        store_test(an_artifact_with_the_right_content_stays),
        store_test(an_artifact_is_read_once_after_the_machine_was_started),
        store_test(a_layer_is_compared_once_after_the_machine_was_started),
        store_test(a_layer_without_its_tree_is_gone),
        store_test(verification_reads_layers_too),
        store_test(a_meta_cut_off_anywhere_is_noticed),
        store_test(a_meta_with_a_wrong_byte_is_noticed),
        store_test(an_entry_under_the_key_of_another_is_not_believed),
        store_test(a_full_disk_is_said_and_leaves_nothing),
        store_test(a_full_disk_can_be_used_and_cleared),
        store_test(a_read_only_disk_can_be_read),
        store_test(a_cache_of_somebody_else_is_refused),
        store_test(a_cache_that_others_can_write_to_is_refused),
        store_test(places_and_keys_that_are_none_are_refused),
        store_test(the_environment_says_where_it_is),
        store_test(the_least_recently_used_artifacts_go_first),
        store_test(what_may_be_running_stays_up_to_twice_the_bound),
        store_test(a_use_is_marked_once_a_minute),
        store_test(what_dead_makers_left_is_removed),
        store_test(one_makes_and_the_others_wait),
        store_test(notes_are_whole_or_not_there),
        store_test(trees_of_strangers_lead_nowhere),
        store_test(what_cannot_be_kept_is_said_and_removed),
        store_test(the_list_says_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
