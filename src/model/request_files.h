/* The files that a request brings along. */
#ifndef MODEL_REQUEST_FILES_H
#define MODEL_REQUEST_FILES_H

#include "model/request.h"

/* A copy with a NUL after it; never NULL for no bytes, so that "empty" and "not given" differ. */
char *request_files_copy(const void *data, size_t len);
/* True when the paths are equal, or when one is a parent directory of the other. */
bool request_files_clash(const char *a, const char *b);
int request_files_refuse(const char *path, const char *other, sbr_error *err);
/* Of a list: request_files_check looks once, behind all of them, whether paths clash. */
int request_files_add(sbr_request *req, const char *path, const void *data, size_t len,
                      sbr_error *err);
int request_files_check(const sbr_request *req, sbr_error *err);

#endif
