/* Perl's print without a flush of Perl's, while lines are collected.
 *
 * With $| Perl copies each print into a buffer of its own and flushes that through two layers into
 * write(2).  This costs more than the rest of the print.  So the layer "perlio" of STDOUT gets
 * another table of functions: a copy of Perl's, of which three are ours.  They give the bytes to
 * the block at once and leave Perl's buffer empty, so Perl's flush has nothing to do.  Whenever
 * something is unusual, Perl's own functions do the work, as they do without this file.
 *
 * Layers, their tables and these functions are Perl's interface for modules (perliol).  Everything
 * that is assumed about them is compared first: where a Perl is built in another way, nothing is
 * changed.  Perls without threads have functions with other parameters, and are left alone. */

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "live/live_block.h"

#define MOST_WORDS 64u

struct layer {
    struct layer *next;
    const void *table;
};

typedef struct layer *handle_t;
typedef ssize_t write_function(void *perl, handle_t *f, const void *data, size_t len);
typedef intptr_t flush_function(void *perl, handle_t *f);
typedef off_t tell_function(void *perl, handle_t *f);

static struct {
    const void *perlio, *lowest; /* the tables of the two layers of STDOUT */
    handle_t *(*get_stdout)(void *perl);
    void *(*get_context)(void);
    write_function *write;
    flush_function *flush;
    tell_function *tell;
} theirs;

static uintptr_t table[MOST_WORDS];
static bool is_ready; /* the table is complete */

/* Of the one handle whose prints are collected. */
static handle_t *handle;
static bool is_dirty;    /* Perl's own buffer may have bytes */
static bool is_filling;  /* Perl's own function fills it, and flushes it when it is full */
static size_t unflushed; /* bytes that were collected since the last flush */
static off_t past;       /* bytes that Perl's own buffer has never seen */

/* Without a flush after some bytes, the program has cleared $|, and Perl's buffer is in use. */
static ssize_t write_past(void *perl, handle_t *f, const void *data, size_t len)
{
    ssize_t r;

    if (f != handle)
        return theirs.write(perl, f, data, len);
    if (!is_dirty && len <= LARGE && unflushed <= LARGE && live_collect(data, len)) {
        unflushed += len;
        past += (off_t)len;
        return (ssize_t)len;
    }
    is_dirty = is_filling = true;
    r = theirs.write(perl, f, data, len);
    is_filling = false;
    return r;
}

static intptr_t flush_past(void *perl, handle_t *f)
{
    intptr_t r;

    if (f != handle)
        return theirs.flush(perl, f);
    unflushed = 0;
    if (!is_dirty)
        return 0;
    r = theirs.flush(perl, f);
    is_dirty = is_filling;
    return r;
}

static off_t tell_past(void *perl, handle_t *f)
{
    off_t at = theirs.tell(perl, f);

    return f == handle && at >= 0 ? at + past : at;
}

/* False: the table has not exactly one of it. */
static bool replace(size_t n_words, const void *old, uintptr_t new)
{
    size_t found = 0;

    for (size_t i = 0; i < n_words; i++)
        if (table[i] == (uintptr_t)old) {
            table[i] = new;
            found++;
        }
    return found == 1;
}

/* A table begins with its size. */
static bool copy_table(void)
{
    const size_t *size = theirs.perlio;
    size_t n = *size / sizeof(table[0]);

    if (*size % sizeof(table[0]) || n > MOST_WORDS)
        return false;
    memcpy(table, theirs.perlio, *size);
    return replace(n, (const void *)theirs.write, (uintptr_t)write_past) &&
           replace(n, (const void *)theirs.flush, (uintptr_t)flush_past) &&
           replace(n, (const void *)theirs.tell, (uintptr_t)tell_past);
}

void live_perl_find(void)
{
    const struct {
        const char *name;
        void *ret;
    } wanted[] = {
        { "PerlIO_perlio", &theirs.perlio },          { "PerlIO_unix", &theirs.lowest },
        { "Perl_PerlIO_stdout", &theirs.get_stdout }, { "Perl_get_context", &theirs.get_context },
        { "PerlIOBuf_write", &theirs.write },         { "PerlIOBuf_flush", &theirs.flush },
        { "PerlIOBuf_tell", &theirs.tell },
    };

    if (!dlsym(RTLD_DEFAULT, "PL_thr_key")) /* of Perls with threads */
        return;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *found = dlsym(RTLD_DEFAULT, wanted[i].name);

        if (!found)
            return;
        memcpy(wanted[i].ret, &found, sizeof(found));
    }
    is_ready = copy_table();
}

/* Perl is in the middle of a flush of its buffer now, and perhaps of filling it.  Until that is
 * over its own functions do the work. */
void live_perl_take(void)
{
    static bool is_tried;
    void *perl;
    handle_t *f;

    if (!is_ready || __atomic_test_and_set(&is_tried, __ATOMIC_RELAXED))
        return;
    perl = theirs.get_context();
    f = perl ? theirs.get_stdout(perl) : NULL;
    if (!f || !*f || (*f)->table != theirs.perlio || !(*f)->next ||
        (*f)->next->table != theirs.lowest || (*f)->next->next)
        return;
    is_dirty = is_filling = true;
    handle = f;
    (*f)->table = table;
}
