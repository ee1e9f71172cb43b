/* What the job needs to know of a project before its program runs. */
#ifndef TOOLCHAIN_PROJECT_H
#define TOOLCHAIN_PROJECT_H

#include "model/request.h"
#include "plan/language.h"

/* Reads the existing manifests and locks of the language's installer; the caller frees paths, data
 * and the list. */
int project_manifests(int project_fd, const struct language *language, struct request_file **ret,
                      size_t *ret_n, sbr_error *err) must_check;
/* A name for the code's file when the project has a file of the language's name; else empty. */
int project_code_name(int project_fd, const struct language *language, char *name, size_t size,
                      sbr_error *err) must_check;
/* Fails when the project lacks the program of the request; its content matters only inside. */
int project_program(int project_fd, const char *path, sbr_error *err) must_check;

#endif
