/* When a program has ended, Node destroys its heap object by object, ends the threads of V8 and
 * runs the exit handlers of its libraries.  That takes a quarter of a small program's CPU time and
 * has no visible effect.  So the process ends when Node begins with it.
 *
 * The exit code is not known to an addon at that point.  Node keeps it in three numbers, which the
 * program changes by process.exitCode and Node itself after a wait that nothing ends:
 *
 *     is exiting, the code, whether there is one
 *
 * The zygote finds them by their values.  Where it does not find exactly one such place, or where
 * the program loaded a library, which may have something to say at the end, the whole end runs. */
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PLACES 32

enum exit_field { FIELD_EXITING, FIELD_CODE, FIELD_HAS_CODE, N_FIELDS };

static const int32_t *places[MAX_PLACES];
static size_t n_places;
static int n_looks;
static bool is_short;

static bool fits(const int32_t *place, int32_t value, bool is_set)
{
    return place[FIELD_EXITING] == 0 && place[FIELD_CODE] == value &&
           place[FIELD_HAS_CODE] == (is_set ? 1 : 0);
}

static void look_at(uintptr_t start, uintptr_t end, int32_t value)
{
    for (uintptr_t at = start; at + N_FIELDS * sizeof(int32_t) <= end; at += sizeof(int32_t)) {
        const int32_t *place = (const int32_t *)at;

        if (place[FIELD_CODE] == value && fits(place, value, true) && n_places < MAX_PLACES)
            places[n_places++] = place;
    }
}

/* All memory that can be written to; Node allocates these numbers like any other memory. */
static void look_everywhere(int32_t value)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end, inode;
    char access[8], line[512];

    while (maps && fgets(line, sizeof(line), maps))
        /* NOLINTNEXTLINE(cert-err34-c): as the kernel writes it */
        if (sscanf(line, "%lx-%lx %7s %*x %*s %lu", &start, &end, access, &inode) == 4 && !inode &&
            !strncmp(access, "rw-p", 4) && !strstr(line, "[stack]"))
            look_at(start, end, value);
    if (maps)
        fclose(maps);
}

void node_end_look(int32_t value, bool is_set)
{
    size_t n = 0;

    if (n_looks++ == 0) {
        look_everywhere(value);
        return;
    }
    for (size_t i = 0; i < n_places; i++)
        if (fits(places[i], value, is_set))
            places[n++] = places[i];
    n_places = n;
}

int node_end_prepare(void)
{
    is_short = n_looks == 3 && n_places == 1 && finish_skip_handlers() == 0;
    return is_short ? 0 : -1;
}

void node_end_now(void *nothing)
{
    const int32_t *place = places[0];

    (void)nothing;
    if (!is_short || !finish_has_same_libraries())
        return;
    exit(place[FIELD_HAS_CODE] ? place[FIELD_CODE] : 0); /* lint-ok: exit: Node would do so */
}

void node_end_whole(void)
{
    is_short = false;
}
