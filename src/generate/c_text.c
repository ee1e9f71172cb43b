#include "generate/c_text.h"

#include <ctype.h>
#include <string.h>

void c_text_string(FILE *out, const char *text)
{
    if (!text) {
        fputs("NULL", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", out);
        else if (isprint(*c) && *c != '?') /* "??" starts a trigraph */
            fputc(*c, out);
        else
            fprintf(out, "\\%03o", *c);
    }
    fputc('"', out);
}

int c_text_save(const char *path, const char *text, size_t len, sbr_error *err)
{
    FILE *file = fopen(path, "we");
    size_t written;

    if (!file)
        return err_set_errno(err, "compile", "%s: cannot be created", path);
    written = fwrite(text, 1, len, file);
    if (fclose(file) != 0 || written != len)
        return err_set_errno(err, "compile", "%s: cannot be written", path);
    return 0;
}
