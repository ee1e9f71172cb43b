/* The schema of a request, and the tools of MCP whose arguments are fields of one. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/fd.h"
#include "generate/c_text.h"
#include "model/exclude.h"
#include "model/request_fields.h"

#define TOOLS_MAX (1 << 20)
#define PLACE "{\"$field\": \"" /* stands for the field of that name in tools.json */

/* The setters are not here. */
#define FIELD(id, kind_, member, setter, who_, merge_, bound_, must_be_, ...)                      \
    { .name = #id, .kind = FIELD_##kind_, ##__VA_ARGS__ },
static const struct request_field fields[] = {
#include "model/request_fields.def"
};

#define STRING "\"type\": \"string\""
#define FILE_ITEM                                                                                  \
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"path\", "            \
    "\"content\"], \"properties\": {\"path\": {" STRING ", \"maxLength\": 1024}, "                 \
    "\"content\": {" STRING "}, \"encoding\": {\"enum\": [\"utf-8\", \"base64\"]}, "               \
    "\"executable\": {\"type\": \"boolean\"}}}"
#define TTY_SIZE "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 4096}"

static const char *const types[] = {
    [FIELD_TEXT] = STRING,
    [FIELD_WORD] = STRING,
    [FIELD_BYTES] = STRING,
    [FIELD_LIST] = "\"type\": \"array\", \"items\": {" STRING,
    [FIELD_TEXTS] = "\"type\": \"array\", \"items\": {" STRING,
    [FIELD_HOSTS] = "\"type\": \"array\", \"items\": {" STRING,
    [FIELD_SECRETS] = "\"type\": \"array\", \"items\": {" STRING,
    [FIELD_PAIRS] = "\"type\": \"object\", \"additionalProperties\": {" STRING "}",
    [FIELD_SWITCH] = "\"type\": \"boolean\"",
    [FIELD_LIMITS] = "\"$ref\": \"#/$defs/limits\"",
    [FIELD_FILES] = "\"type\": \"array\", \"items\": " FILE_ITEM,
    [FIELD_TTY] = "\"type\": \"object\", \"properties\": {\"rows\": " TTY_SIZE
                  ", \"columns\": " TTY_SIZE "}, \"required\": [\"rows\", \"columns\"], "
                  "\"additionalProperties\": false",
};

/* The members of its schema; `whole`: also what the setter checks by itself. */
static void print_field(FILE *out, const struct request_field *field, bool whole)
{
    bool is_list = field->kind == FIELD_LIST || field->kind == FIELD_TEXTS ||
                   field->kind == FIELD_HOSTS || field->kind == FIELD_SECRETS;

    fputs(types[field->kind], out);
    if (is_list)
        fprintf(out, "%s%s}", whole && field->item ? ", " : "",
                whole && field->item ? field->item : "");
    if (whole && field->most)
        fprintf(out, ", \"maxItems\": %zu", field->most);
    if (whole && field->kind == FIELD_PAIRS)
        fputs(", \"propertyNames\": {\"pattern\": \"^[^=]+$\"}", out);
    if (field->schema && (whole || field->kind == FIELD_WORD))
        fprintf(out, ", %s", field->schema);
}

/* Each limit by both of its names; where they are the same, it is the option's. */
static void print_limits(FILE *out)
{
    for (size_t i = 0; i < N_LIMITS; i++) {
        const struct limit_def *limit = &limit_defs[i];

        if (strcmp(limit->name, limit->option) != 0)
            fprintf(out, "    \"%s\": {\"type\": %s, \"minimum\": 0},\n", limit->name,
                    limit->may_be_none ? "[\"number\", \"null\"]" : "\"number\"");
        fprintf(out, "    \"%s\": {\"type\": [\"number\", \"string\"]}%s\n", limit->option,
                i + 1 < N_LIMITS ? "," : "");
    }
}

int generate_request(FILE *out, const char *arch, char *const *paths, sbr_error *err)
{
    (void)arch, (void)paths, (void)err;
    fputs("{\n \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
          " \"$id\": \"urn:sandbox-run:request\",\n \"title\": \"What to run\",\n"
          " \"description\": \"docs/request.md. The reader also checks what a schema cannot say, "
          "such as overlapping volumes.\",\n \"type\": \"object\",\n \"properties\": {\n",
          out);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        fprintf(out, "  \"%s\": {", fields[i].name);
        print_field(out, &fields[i], true);
        fputs(i + 1 < ARRAY_LEN(fields) ? "},\n" : "}\n", out);
    }
    fputs(
        " },\n \"additionalProperties\": false,\n \"$defs\": {\n"
        "  \"limits\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {\n",
        out);
    print_limits(out);
    fputs("  }}\n }\n}\n", out);
    return 0;
}

static const struct request_field *find_argument(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (fields[i].mcp && strlen(fields[i].mcp) == len && !strncmp(fields[i].mcp, name, len))
            return &fields[i];
    return NULL;
}

int generate_tools(FILE *out, const char *arch, char *const *paths, sbr_error *err)
{
    scoped_fd int fd = open(paths[0], O_RDONLY | O_CLOEXEC);
    scoped_free char *text = NULL;
    const char *at, *place;
    size_t len;

    (void)arch;
    if (fd < 0)
        return err_set_errno(err, "compile", "%s: cannot be opened", paths[0]);
    if (fd_read_text(fd, TOOLS_MAX, &text, &len, err) < 0)
        return err->code;
    for (at = text; (place = strstr(at, PLACE)) != NULL;) {
        const char *name = place + strlen(PLACE);
        const struct request_field *field = find_argument(name, strcspn(name, "\""));

        if (!field)
            return err_set(err, SBR_E_INVALID, "compile",
                           "%s: no field of a request has the name '%.*s' in MCP", paths[0],
                           (int)strcspn(name, "\""), name);
        fprintf(out, "%.*s{", (int)(place - at), at);
        print_field(out, field, false);
        at = name + strcspn(name, "\"") + 1;
    }
    fputs(at, out);
    return 0;
}
