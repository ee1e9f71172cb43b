/* Signs of a tool in a project: a file of a certain name, with a certain text. */
#ifndef WORK_SIGNS_H
#define WORK_SIGNS_H

#include <stdbool.h>

/* A file in the directory whose name matches and that has the text; an empty text: any. */
bool signs_in(int dir_fd, const char *pattern, const char *text);
/* The same, also in the directories that tests and sources usually are in. */
bool signs_in_project(int dir_fd, const char *pattern, const char *text);

#endif
