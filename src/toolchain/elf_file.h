/* What a program of this machine needs to start: its loader and its shared libraries, as the file
 * itself names them.  Reads only; a file that contradicts itself is refused. */
#ifndef TOOLCHAIN_ELF_FILE_H
#define TOOLCHAIN_ELF_FILE_H

#include <stddef.h>

#include "base/err.h"
#include "base/string_list.h"

struct elf_file {
    char *loader;              /* absolute path; NULL: the program is static */
    struct string_list needed; /* names of libraries */
    struct string_list paths;  /* where it wants them looked for first; $ORIGIN is replaced */
};

/* The caller calls elf_file_done, also after an error.  SBR_E_INVALID: it is no ELF file of this
 * machine's kind. */
int elf_file_read(const char *path, struct elf_file *ret, sbr_error *err) must_check;
void elf_file_done(struct elf_file *file);

#endif
