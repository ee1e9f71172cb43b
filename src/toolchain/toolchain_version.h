/* Versions as texts: numbers separated by points. */
#ifndef TOOLCHAIN_TOOLCHAIN_VERSION_H
#define TOOLCHAIN_TOOLCHAIN_VERSION_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/tools.h"

/* The length of the version at the start of `text`. */
size_t toolchain_version_prefix(const char *text);

/* "3", "3.11": at most TOOLCHAIN_VERSION - 1 characters. */
bool toolchain_version_is_valid(const char *text);

/* Compares part by part as numbers; a longer version is newer.  Returns negative, 0 or positive. */
int toolchain_version_compare(const char *a, const char *b);

/* 1: `version` begins with the numbers of `wanted`; 0: it does not; -1: it is too short. */
int toolchain_version_matches(const char *version, const char *wanted);

/* The version in a name such as go1.26, java-17-openjdk-amd64, 1.95.0-x86_64-unknown-linux-gnu:
 * numbers with points, or else a number that is a word or follows `stem` (may be NULL).  False when
 * there is none, or more than one. */
bool toolchain_version_of_name(const char *name, const char *stem, char ret[TOOLCHAIN_VERSION]);

/* A program's name without the version at its end: python of python3.11 and python[0-9]* */
void toolchain_version_stem(const char *name, char *buf, size_t size);

#endif
