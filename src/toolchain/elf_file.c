#include "toolchain/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/scope.h"

#define STAGE "commands"
#define PATH_SIZE 4096

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

struct image {
    const unsigned char *data;
    size_t size;
    const char *path;
};

/* `count` objects of `size` bytes at `offset`; NULL: they do not lie in the file. */
static const void *at(const struct image *image, uint64_t offset, uint64_t count, size_t size)
{
    if (offset > image->size || count > (image->size - offset) / size || offset % 4 != 0)
        return NULL;
    return image->data + offset;
}

static const char *text_at(const struct image *image, uint64_t offset)
{
    if (offset >= image->size || !memchr(image->data + offset, '\0', image->size - offset))
        return NULL;
    return (const char *)image->data + offset;
}

static int fault(const struct image *image, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, STAGE, "'%.200s' is no program of this machine",
                   image->path);
}

/* The place in the file of an address in memory; SIZE_MAX: none. */
static uint64_t offset_of(const Elf64_Phdr *parts, size_t n, uint64_t address)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].p_type == PT_LOAD && address >= parts[i].p_vaddr &&
            address - parts[i].p_vaddr < parts[i].p_filesz)
            return parts[i].p_offset + (address - parts[i].p_vaddr);
    return SIZE_MAX;
}

static int add_path(struct elf_file *ret, const char *path, const char *dir, size_t len,
                    sbr_error *err)
{
    static const char origin[] = "$ORIGIN", braced[] = "${ORIGIN}";
    const char *slash = strrchr(path, '/');
    size_t skip = len >= sizeof(origin) - 1 && !strncmp(dir, origin, sizeof(origin) - 1)
                      ? sizeof(origin) - 1
                  : len >= sizeof(braced) - 1 && !strncmp(dir, braced, sizeof(braced) - 1)
                      ? sizeof(braced) - 1
                      : 0;
    char full[PATH_SIZE];

    snprintf(full, sizeof(full), "%.*s%.*s", skip ? (int)(slash - path) : 0, path,
             (int)(len - skip), dir + skip);
    return full[0] == '/' ? string_list_add(&ret->paths, full, err) : 0;
}

static int add_paths(struct elf_file *ret, const char *path, const char *list, sbr_error *err)
{
    while (*list) {
        size_t len = strcspn(list, ":");

        if (len && add_path(ret, path, list, len, err) < 0)
            return err->code;
        list += len + (list[len] == ':');
    }
    return 0;
}

static int read_dynamic(const struct image *image, const Elf64_Phdr *parts, size_t n,
                        const Elf64_Phdr *part, struct elf_file *ret, sbr_error *err)
{
    size_t count = part->p_filesz / sizeof(Elf64_Dyn);
    const Elf64_Dyn *rows = at(image, part->p_offset, count, sizeof(*rows));
    uint64_t texts = SIZE_MAX;

    for (size_t i = 0; rows && i < count && rows[i].d_tag != DT_NULL; i++)
        if (rows[i].d_tag == DT_STRTAB)
            texts = offset_of(parts, n, rows[i].d_un.d_ptr);
    for (size_t i = 0; rows && i < count && rows[i].d_tag != DT_NULL; i++) {
        bool path = rows[i].d_tag == DT_RUNPATH || rows[i].d_tag == DT_RPATH;
        const char *text;

        if (!path && rows[i].d_tag != DT_NEEDED)
            continue;
        text = texts < image->size && rows[i].d_un.d_val < image->size
                   ? text_at(image, texts + rows[i].d_un.d_val)
                   : NULL;
        if (!text)
            return fault(image, err);
        if (path ? add_paths(ret, image->path, text, err) < 0
                 : string_list_add(&ret->needed, text, err) < 0)
            return err->code;
    }
    return rows ? 0 : fault(image, err);
}

static int read_loader(const struct image *image, const Elf64_Phdr *part, struct elf_file *ret,
                       sbr_error *err)
{
    const char *text = text_at(image, part->p_offset);

    if (!text || text[0] != '/')
        return fault(image, err);
    ret->loader = strdup(text);
    return ret->loader ? 0 : err_set_oom(err, STAGE);
}

static int read_image(const struct image *image, struct elf_file *ret, sbr_error *err)
{
    const Elf64_Ehdr *head = at(image, 0, 1, sizeof(*head));
    const Elf64_Phdr *parts;

    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB ||
        head->e_machine != MACHINE || head->e_phentsize != sizeof(*parts))
        return fault(image, err);
    parts = at(image, head->e_phoff, head->e_phnum, sizeof(*parts));
    if (!parts)
        return fault(image, err);
    for (size_t i = 0; i < head->e_phnum; i++) {
        if (parts[i].p_type == PT_INTERP && !ret->loader &&
            read_loader(image, &parts[i], ret, err) < 0)
            return err->code;
        if (parts[i].p_type == PT_DYNAMIC &&
            read_dynamic(image, parts, head->e_phnum, &parts[i], ret, err) < 0)
            return err->code;
    }
    return 0;
}

int elf_file_read(const char *path, struct elf_file *ret, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct image image = { .path = path };
    struct stat st;
    void *data;
    int r;

    *ret = (struct elf_file){ 0 };
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, STAGE, "cannot read '%.200s'", path);
    image.size = (size_t)st.st_size;
    if (!S_ISREG(st.st_mode) || image.size < sizeof(Elf64_Ehdr))
        return fault(&image, err);
    data = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return err_set_errno(err, STAGE, "cannot read '%.200s'", path);
    image.data = data;
    r = read_image(&image, ret, err);
    munmap(data, image.size);
    return r;
}

void elf_file_done(struct elf_file *file)
{
    free(file->loader);
    string_list_done(&file->needed);
    string_list_done(&file->paths);
    *file = (struct elf_file){ 0 };
}
