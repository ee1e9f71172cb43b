#include "model/outputs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

#define MAX_PATTERN 1024
#define MAX_DIR 4000
#define WORK "/work/"

/* One rule as the caller wrote it. */
struct spec {
    const char *word; /* what the caller calls it */
    const char *text;
};

static int spec_error(const struct spec *spec, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request",
                   "%s '%.100s' %s; give PATTERN or PATTERN:DIR, for example "
                   "'out/**/*.png:results'",
                   spec->word, spec->text, what);
}

const char *output_spec_dir(const char *spec)
{
    for (const char *p = spec; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == '[') {
            /* A colon in a class does not separate; an unclosed bracket is not a class. */
            const char *first = p + 1 + (p[1] == '!' || p[1] == '^');
            const char *close = *first ? strchr(first + 1, ']') : NULL;

            p = close ? close : p;
        } else if (*p == ':') {
            return p + 1;
        }
    }
    return NULL;
}

/* Appends the pattern as an absolute path without empty and "." parts; refuses "..". */
static int put_pattern(struct buf *out, const struct spec *spec, const char *pattern, size_t len,
                       sbr_error *err)
{
    const char *end = pattern + len;
    size_t parts = 0;

    if (len == 0)
        return spec_error(spec, "has no pattern", err);
    if (len > MAX_PATTERN)
        return spec_error(spec, "has a pattern of more than 1024 bytes", err);
    if (*pattern != '/')
        buf_add(out, WORK, sizeof(WORK) - 2);
    while (pattern < end) {
        size_t n = strcspn(pattern, "/");

        if (n > (size_t)(end - pattern))
            n = (size_t)(end - pattern);
        if (n == 2 && !strncmp(pattern, "..", 2))
            return spec_error(spec, "has '..' in its pattern", err);
        if (n && !(n == 1 && *pattern == '.')) {
            buf_add(out, "/", 1);
            buf_add(out, pattern, n);
            parts++;
        }
        pattern += n + 1;
    }
    if (parts > OUTPUTS_MAX_PARTS)
        return spec_error(spec, "has a pattern of too many parts", err);
    if (out->failed)
        return err_set_oom(err, "request");
    return out->len ? 0 : spec_error(spec, "means the whole root; name a part of it", err);
}

/* Copies an absolute path without its trailing slashes. */
static int copy_dir(const struct spec *spec, const char *dir, char **ret, sbr_error *err)
{
    size_t len = strlen(dir);

    if (!len)
        return spec_error(spec, "has an empty directory after its colon", err);
    if (*dir != '/')
        return spec_error(spec, "has a directory that is not an absolute path", err);
    if (len > MAX_DIR)
        return spec_error(spec, "has a directory of more than 4000 bytes", err);
    while (len > 1 && dir[len - 1] == '/')
        len--;
    *ret = strndup(dir, len);
    return *ret ? 0 : err_set_oom(err, "request");
}

static int parse_rule(const struct spec *spec, struct output_rule *rule, sbr_error *err)
{
    const char *dir = output_spec_dir(spec->text);
    size_t len = dir ? (size_t)(dir - spec->text) - 1 : strlen(spec->text);
    struct buf pattern;

    buf_init(&pattern, 2 * MAX_PATTERN);
    if (put_pattern(&pattern, spec, spec->text, len, err) < 0 ||
        (dir && copy_dir(spec, dir, &rule->dir, err) < 0)) {
        buf_done(&pattern);
        return err->code;
    }
    rule->pattern = buf_take(&pattern, NULL);
    return rule->pattern ? 0 : err_set_oom(err, "request");
}

static void rule_done(struct output_rule *rule)
{
    free(rule->pattern);
    free(rule->dir);
}

int output_rules_add(struct output_rules *rules, const char *word, const char *text, sbr_error *err)
{
    const struct spec spec = { word, text };
    struct output_rule rule = { 0 }, *grown;

    if (rules->n >= OUTPUTS_MAX_RULES)
        return err_set(err, SBR_E_INVALID, "request",
                       "a request has at most %d outputs; use patterns", OUTPUTS_MAX_RULES);
    if (parse_rule(&spec, &rule, err) < 0) {
        rule_done(&rule);
        return err->code;
    }
    grown = realloc(rules->items, (rules->n + 1) * sizeof(*grown));
    if (!grown) {
        rule_done(&rule);
        return err_set_oom(err, "request");
    }
    rules->items = grown;
    grown[rules->n++] = rule;
    return 0;
}

void output_rules_done(struct output_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        rule_done(&rules->items[i]);
    free(rules->items);
    *rules = (struct output_rules){ 0 };
}

static void file_done(const struct output_file *file)
{
    free(file->path);
    free(file->saved);
    free(file->skipped);
}

int output_files_add(struct output_files *files, const struct output_file *file, sbr_error *err)
{
    struct output_file *grown = files->items;

    if (files->n >= OUTPUT_FILES_MAX) {
        files->dropped++;
        file_done(file);
        return 0;
    }
    /* The capacity is the count rounded up to a power of two. */
    if ((files->n & (files->n - 1)) == 0)
        grown = realloc(files->items, (files->n ? 2 * files->n : 1) * sizeof(*grown));
    if (!grown) {
        file_done(file);
        return err_set_oom(err, "outputs");
    }
    files->items = grown;
    grown[files->n++] = *file;
    return 0;
}

void output_files_done(struct output_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        file_done(&files->items[i]);
    free(files->items);
    *files = (struct output_files){ 0 };
}

static const struct {
    const char *ending, *mime;
} mime_types[] = {
    { "7z", "application/x-7z-compressed" },
    { "avi", "video/x-msvideo" },
    { "bmp", "image/bmp" },
    { "bz2", "application/x-bzip2" },
    { "c", "text/x-c" },
    { "cc", "text/x-c++" },
    { "class", "application/java-vm" },
    { "cpp", "text/x-c++" },
    { "css", "text/css" },
    { "csv", "text/csv" },
    { "diff", "text/x-diff" },
    { "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
    { "flac", "audio/flac" },
    { "gif", "image/gif" },
    { "go", "text/x-go" },
    { "gz", "application/gzip" },
    { "h", "text/x-c" },
    { "htm", "text/html" },
    { "html", "text/html" },
    { "ico", "image/x-icon" },
    { "ipynb", "application/x-ipynb+json" },
    { "jar", "application/java-archive" },
    { "java", "text/x-java" },
    { "jpeg", "image/jpeg" },
    { "jpg", "image/jpeg" },
    { "js", "text/javascript" },
    { "json", "application/json" },
    { "jsonl", "application/jsonl" },
    { "log", "text/plain" },
    { "md", "text/markdown" },
    { "mjs", "text/javascript" },
    { "mkv", "video/x-matroska" },
    { "mp3", "audio/mpeg" },
    { "mp4", "video/mp4" },
    { "npy", "application/x-npy" },
    { "npz", "application/zip" },
    { "ogg", "audio/ogg" },
    { "parquet", "application/vnd.apache.parquet" },
    { "patch", "text/x-diff" },
    { "pdf", "application/pdf" },
    { "php", "text/x-php" },
    { "pl", "text/x-perl" },
    { "png", "image/png" },
    { "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
    { "py", "text/x-python" },
    { "r", "text/x-r" },
    { "rb", "text/x-ruby" },
    { "rs", "text/x-rust" },
    { "sh", "text/x-shellscript" },
    { "sql", "application/sql" },
    { "sqlite", "application/vnd.sqlite3" },
    { "svg", "image/svg+xml" },
    { "tar", "application/x-tar" },
    { "tex", "text/x-tex" },
    { "tif", "image/tiff" },
    { "tiff", "image/tiff" },
    { "toml", "application/toml" },
    { "ts", "text/x-typescript" },
    { "tsv", "text/tab-separated-values" },
    { "txt", "text/plain" },
    { "wasm", "application/wasm" },
    { "wav", "audio/wav" },
    { "webm", "video/webm" },
    { "webp", "image/webp" },
    { "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
    { "xml", "application/xml" },
    { "xz", "application/x-xz" },
    { "yaml", "application/yaml" },
    { "yml", "application/yaml" },
    { "zip", "application/zip" },
    { "zst", "application/zstd" },
};

const char *outputs_mime_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    if (dot && dot != name)
        for (size_t i = 0; i < ARRAY_LEN(mime_types); i++)
            if (!strcasecmp(dot + 1, mime_types[i].ending))
                return mime_types[i].mime;
    return "application/octet-stream";
}

static void put_file(struct jsonw *j, const struct output_file *file)
{
    jsonw_open(j, NULL, '{');
    jsonw_path(j, "path", file->path);
    jsonw_number(j, "size", file->size);
    jsonw_text(j, "mime", file->mime);
    if (file->saved)
        jsonw_path(j, "saved", file->saved);
    else
        jsonw_null(j, "saved");
    jsonw_text(j, "skipped", file->skipped);
    jsonw_close(j, '}');
}

void output_files_put_json(struct jsonw *j, const struct output_files *files)
{
    jsonw_open(j, "files", '[');
    for (size_t i = 0; i < files->n; i++)
        put_file(j, &files->items[i]);
    jsonw_close(j, ']');
    if (files->dropped)
        jsonw_number(j, "files_dropped", files->dropped);
}
