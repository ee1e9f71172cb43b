/* Versions that toolchains reported, stored between runs. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/store.h"
#include "toolchain/toolchain.h"
#include "toolchain/toolchain_version.h"

void toolchain_identity(const struct toolchain *toolchain, char *buf, size_t size)
{
    char real[PATH_MAX];
    struct stat st = { 0 };

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

int toolchain_version(const struct language *language, const struct toolchain_query *query,
                      struct toolchain *toolchain)
{
    char identity[TOOLCHAIN_IDENTITY], note[TOOLCHAIN_NOTE], text[TOOLCHAIN_VERSION] = "";
    int r;

    if (toolchain->version[0])
        return 0;
    toolchain_identity(toolchain, identity, sizeof(identity));
    toolchain_note_name("version", language->name, identity, note, sizeof(note));
    if (store_note_read(note, text, sizeof(text)) >= 0 && toolchain_version_is_valid(text)) {
        memcpy(toolchain->version, text, sizeof(text));
        return 0;
    }
    if (!query || !query->ask || strcmp(text, SAYS_NOTHING) == 0)
        return SBR_E_NOT_FOUND;
    r = query->ask(query->context, language, toolchain);
    if (r == 0 && toolchain_version_is_valid(toolchain->version)) {
        store_note_write(note, toolchain->version);
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
