/* What a program needs, read from its file; files that contradict themselves. */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "toolchain/elf_file.h"
#include "unit.h"

static void this_program_needs_a_loader_and_a_library(void **state)
{
    struct elf_file file;
    bool found = false;
    sbr_error err;

    (void)state;
    assert_int_equal(elf_file_read("/proc/self/exe", &file, &err), 0);
    assert_non_null(file.loader);
    assert_int_equal(file.loader[0], '/');
    for (size_t i = 0; i < file.needed.n; i++)
        found |= !strncmp(file.needed.items[i], "libc.so", 7);
    assert_true(found);
    elf_file_done(&file);
}

static int read_bytes(const void *data, size_t len, sbr_error *err)
{
    char path[] = "/tmp/sbr-elf-XXXXXX";
    scoped_fd int fd = mkstemp(path);
    struct elf_file file;
    int r;

    assert_true(fd >= 0 && fd_write_all(fd, data, len) == 0);
    r = elf_file_read(path, &file, err);
    elf_file_done(&file);
    unlink(path);
    return r;
}

static void what_is_no_program_is_refused(void **state)
{
    Elf64_Ehdr head = { 0 };
    sbr_error err;

    (void)state;
    assert_int_equal(read_bytes("", 0, &err), SBR_E_INVALID);
    assert_int_equal(read_bytes("#!/bin/sh\n", 10, &err), SBR_E_INVALID);
    assert_int_equal(read_bytes(&head, sizeof(head), &err), SBR_E_INVALID);
    assert_true(elf_file_read("/nope", &(struct elf_file){ 0 }, &err) < 0);
}

/* Every length of a real program, and every byte of its head and tables replaced: no answer may
 * come from outside of the file, which the sanitizers watch. */
static void a_damaged_program_is_refused_or_read(void **state)
{
    scoped_free char *data = NULL;
    size_t len = 0;
    sbr_error err;
    scoped_fd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(fd_read_text(fd, 256 << 20, &data, &len, &err), 0);
    for (size_t cut = sizeof(Elf64_Ehdr); cut < len; cut += len / 40 + 1)
        (void)read_bytes(data, cut, &err);
    for (size_t i = 16; i < sizeof(Elf64_Ehdr) + 14 * sizeof(Elf64_Phdr) && i < len; i += 7) {
        char was = data[i];

        data[i] = (char)0xff;
        (void)read_bytes(data, len < 65536 ? len : 65536, &err);
        data[i] = was;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_program_needs_a_loader_and_a_library),
        cmocka_unit_test(what_is_no_program_is_refused),
        cmocka_unit_test(a_damaged_program_is_refused_or_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
