/* Versions that toolchains reported, stored between runs. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/store.h"
#include "toolchain/toolchain.h"
#include "toolchain/toolchain_version.h"

void toolchain_identity(const struct toolchain *toolchain, char *buf, size_t size)
{
    char real[PATH_MAX];
    struct stat st = { 0 };

    if (toolchain->image[0]) {
        snprintf(buf, size, "%s %s", toolchain->binary, toolchain->image);
        return;
    }
    if (!realpath(toolchain->binary, real) || stat(real, &st) < 0)
        snprintf(real, sizeof(real), "%s", toolchain->binary);
    snprintf(buf, size, "%s %lld %lld.%09ld", real, (long long)st.st_size,
             (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
}

void toolchain_note_name(const char *kind, const char *language, const char *key, char *buf,
                         size_t size)
{
    size_t used = (size_t)snprintf(buf, size, "%.24s-%.60s-", kind, language);
    size_t key_len = strlen(key), room = size - 1 - (used < size ? used : size - 1);

    snprintf(buf + used, size - used, "%s", key_len > room ? key + key_len - room : key);
    for (char *p = buf; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *p))
            *p = '_';
}

#define SAYS_NOTHING "-" /* a note: asking again is useless */

/* The last answers of this thread, so that a run costs one stat instead of a look into the store.
 * The place in the table is the language's. */
struct answer {
    const struct language *language;
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    char text[TOOLCHAIN_VERSION];
};

static __thread struct answer answers[16];

/* The place for the answer of this tool; its text is empty when there is none yet. */
static struct answer *recall(const struct language *language, const struct toolchain *toolchain)
{
    struct answer *place = &answers[(uintptr_t)language / sizeof(*language) % ARRAY_LEN(answers)];
    struct stat st;

    if (toolchain->image[0] || stat(toolchain->binary, &st) < 0)
        *place = (struct answer){ 0 }; /* nothing would show that it is another tool */
    else if (place->language != language || place->dev != st.st_dev || place->ino != st.st_ino ||
             clock_ns(place->changed) != clock_ns(st.st_ctim))
        *place = (struct answer){
            .language = language, .dev = st.st_dev, .ino = st.st_ino, .changed = st.st_ctim
        };
    return place;
}

/* Fills the version from an answer.  SBR_E_NOT_FOUND: the tool says none. */
static int take(const char *text, struct toolchain *toolchain)
{
    if (!toolchain_version_is_valid(text))
        return SBR_E_NOT_FOUND;
    snprintf(toolchain->version, sizeof(toolchain->version), "%s", text);
    return 0;
}

int toolchain_version(const struct language *language, const struct toolchain_query *query,
                      struct toolchain *toolchain)
{
    char identity[TOOLCHAIN_IDENTITY], note[TOOLCHAIN_NOTE];
    struct answer *known;
    int r;

    if (toolchain->version[0])
        return 0;
    known = recall(language, toolchain);
    if (known->text[0])
        return take(known->text, toolchain);
    toolchain_identity(toolchain, identity, sizeof(identity));
    toolchain_note_name("version", language->name, identity, note, sizeof(note));
    if (store_note_read(note, known->text, sizeof(known->text)) >= 0 &&
        (toolchain_version_is_valid(known->text) || !strcmp(known->text, SAYS_NOTHING)))
        return take(known->text, toolchain);
    known->text[0] = '\0';
    if (!query || !query->ask)
        return SBR_E_BUSY;
    r = query->ask(query->context, language, toolchain);
    if (r == 0 && toolchain_version_is_valid(toolchain->version)) {
        store_note_write(note, toolchain->version);
        memcpy(known->text, toolchain->version, sizeof(known->text));
        return 0;
    }
    toolchain->version[0] = '\0';
    if (r == SBR_E_NOT_FOUND)
        store_note_write(note, SAYS_NOTHING);
    return SBR_E_NOT_FOUND;
}

bool toolchain_read_version(const char *text, char *buf, size_t size)
{
    for (size_t len; text && *text; text += len ? len : 1) {
        len = toolchain_version_prefix(text);
        if (len < size && len > strspn(text, "0123456789")) {
            memcpy(buf, text, len);
            buf[len] = '\0';
            return true;
        }
    }
    return false;
}
