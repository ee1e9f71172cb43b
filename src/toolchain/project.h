/* What a project's root has to say before the program runs. */
#ifndef TOOLCHAIN_PROJECT_H
#define TOOLCHAIN_PROJECT_H

#include "model/request.h"
#include "plan/language.h"

/* Manifests and locks of the language's installer that are there, read; the caller frees paths, data and the list. */
int project_manifests(int project_fd, const struct language *language, struct request_file **ret,
                      size_t *ret_n, sbr_error *err) must_check;
/* A name for the code's file when the project has one of the language's own name; empty otherwise. */
int project_code_name(int project_fd, const struct language *language, char *name, size_t size,
                      sbr_error *err) must_check;
/* Says so when the program of the request is not there; what it is is seen inside. */
int project_program(int project_fd, const char *path, sbr_error *err) must_check;

#endif
