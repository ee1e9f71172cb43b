
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/text.h"
#include "http/problem.h"
#include "http/route.h"
#include "model/result.h"

#define EMBEDDED(name)                                                                             \
    extern const unsigned char name##_schema_image_start[], name##_schema_image_end[]
EMBEDDED(request);
EMBEDDED(result);
EMBEDDED(event);
EMBEDDED(build);
EMBEDDED(comparison);
EMBEDDED(golden);
EMBEDDED(profile);
EMBEDDED(test);
EMBEDDED(verify);
EMBEDDED(http);

static const struct {
    const char *name;
    const unsigned char *start, *end;
} documents[] = {
    { "request", request_schema_image_start, request_schema_image_end },
    { "result", result_schema_image_start, result_schema_image_end },
    { "event", event_schema_image_start, event_schema_image_end },
    { "build", build_schema_image_start, build_schema_image_end },
    { "comparison", comparison_schema_image_start, comparison_schema_image_end },
    { "golden", golden_schema_image_start, golden_schema_image_end },
    { "profile", profile_schema_image_start, profile_schema_image_end },
    { "test", test_schema_image_start, test_schema_image_end },
    { "verify", verify_schema_image_start, verify_schema_image_end },
};

#define REF "#/components/schemas/"
#define OWN "#/$defs/"

static json_t *reference(const char *name)
{
    scoped_free char *path = text_format(REF "%s", name);

    return json_pack("{s:s}", "$ref", path);
}

/* A schema that stands in another document refers to its own parts by their new place. */
static void move_references(json_t *at, const char *name)
{
    const char *ref = json_string_value(json_object_get(at, "$ref")), *key;
    json_t *value;
    size_t i;

    if (ref && !strncmp(ref, OWN, strlen(OWN))) {
        scoped_free char *moved = text_format(REF "%s_%s", name, ref + strlen(OWN));

        json_object_set_new(at, "$ref", json_string(moved));
    }
    json_object_foreach(at, key, value)
        move_references(value, name);
    json_array_foreach(at, i, value)
        move_references(value, name);
}

/* The parts of a schema stand beside it: not every generator of clients finds them in it. */
static void add_parts(json_t *all, json_t *one, const char *name)
{
    json_t *value;
    const char *key;

    json_object_foreach(json_object_get(one, "$defs"), key, value) {
        scoped_free char *place = text_format("%s_%s", name, key);

        json_object_set(all, place, value);
    }
    (void)json_object_del(one, "$defs");
}

static json_t *schemas(void)
{
    json_t *all = json_object(), *own, *value;
    const char *key;

    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        json_t *one = json_read((const char *)documents[i].start,
                                (size_t)(documents[i].end - documents[i].start),
                                &json_read_document, 0, "the schema", NULL);

        /* Here it is the name of a root. */
        (void)json_object_del(json_object_get(json_object_get(one, "properties"), "project"),
                              "pattern");
        (void)json_object_del(one, "title"); /* generators would name types by it */
        (void)json_object_del(one, "$id");
        (void)json_object_del(one, "$schema");
        move_references(one, documents[i].name);
        json_object_set_new(all, documents[i].name, one);
        add_parts(all, one, documents[i].name);
    }
    own = json_read((const char *)http_schema_image_start,
                    (size_t)(http_schema_image_end - http_schema_image_start), &json_read_document,
                    0, "the schema", NULL);
    json_object_foreach(json_object_get(own, "$defs"), key, value)
        json_object_set(all, key, value);
    json_decref(own);
    return all;
}

static json_t *content_of(const char *type, json_t *schema)
{
    return json_pack("{s:{s:o}}", type, "schema", schema);
}

/* The {names} of a path. */
static json_t *parameters(const char *path)
{
    json_t *list = json_array();

    for (const char *at = strchr(path, '{'); at; at = strchr(at + 1, '{')) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, ".}"), at + 1);
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:{s:s}}", "name", name, "in",
                                              "path", "required", 1, "schema", "type", "string"));
    }
    return list;
}

/* The body as a whole is a text, which holds one value after the other. */
static json_t *lines_of(const char *name)
{
    return json_pack("{s:s, s:s, s:{s:s, s:o}}", "type", "string", "contentMediaType", NDJSON_TYPE,
                     "contentSchema", "type", "array", "items", reference(name));
}

static json_t *reply_content(const struct route *route)
{
    json_t *content = json_object();

    if (route->type)
        json_object_set_new(content, route->type,
                            json_pack("{s:{s:s}}", "schema", "type", "string"));
    else if (route->result && !(route->flags & ROUTE_STREAMS && !strcmp(route->result, "event")))
        json_object_set_new(content, JSON_TYPE,
                            json_pack("{s:o}", "schema", reference(route->result)));
    if (route->flags & ROUTE_STREAMS) {
        json_object_set_new(content, NDJSON_TYPE, json_pack("{s:o}", "schema", lines_of("event")));
        json_object_set_new(content, SSE_TYPE, json_pack("{s:{s:s}}", "schema", "type", "string"));
    }
    return content;
}

static const struct {
    const char *status, *about;
} failures[] = { { "4XX", "What is wrong with the request." },
                 { "5XX", "Why there is no answer." } };

static json_t *failure_content(const struct route *route)
{
    json_t *content = content_of(PROBLEM_TYPE, reference("problem"));

    if (route->flags & ROUTE_RPC)
        json_object_set_new(content, JSON_TYPE,
                            json_pack("{s:o}", "schema", reference("mcp_message")));
    return content;
}

static json_t *replies(const struct route *route)
{
    json_t *all = json_object(), *success = json_pack("{s:s}", "description", route->summary);
    char status[8];

    snprintf(status, sizeof(status), "%u", route->status);
    if (route->result || route->type)
        json_object_set_new(success, "content", reply_content(route));
    json_object_set_new(all, status, success);
    if (route->flags & ROUTE_ASYNC)
        json_object_set_new(all, "202",
                            json_pack("{s:s, s:o}", "description",
                                      "With `Prefer: respond-async`: the run goes on.", "content",
                                      content_of(JSON_TYPE, reference(!strcmp(route->body, "batch")
                                                                          ? "batch_job"
                                                                          : "execution"))));
    if (route->flags & ROUTE_RPC && route->flags & ROUTE_JSON)
        json_object_set_new(all, "202",
                            json_pack("{s:s}", "description", "A message that has no answer."));
    for (size_t i = 0; i < ARRAY_LEN(failures); i++)
        json_object_set_new(all, failures[i].status,
                            json_pack("{s:s, s:o}", "description", failures[i].about, "content",
                                      failure_content(route)));
    return all;
}

static json_t *operation(const struct route *route)
{
    json_t *one = json_pack("{s:s, s:s, s:o, s:o}", "operationId", route->operation, "summary",
                            route->summary, "parameters", parameters(route->path), "responses",
                            replies(route));

    if (route->flags & ROUTE_JSON)
        json_object_set_new(one, "requestBody",
                            json_pack("{s:b, s:o}", "required", 1, "content",
                                      content_of(JSON_TYPE, reference(route->body))));
    if (route->flags & ROUTE_BYTES)
        json_object_set_new(one, "requestBody",
                            json_pack("{s:o}", "content",
                                      content_of("application/octet-stream",
                                                 json_pack("{s:s}", "type", "string"))));
    if (route->flags & ROUTE_OPEN)
        json_object_set_new(one, "security", json_array());
    return one;
}

/* OpenAPI has no rest of a path: {path...} is {path}. */
static void add_route(json_t *paths, const struct route *route)
{
    char path[128], method[16] = "";
    const char *dots = strstr(route->path, "...");
    json_t *item;

    snprintf(path, sizeof(path), "%.*s%s", dots ? (int)(dots - route->path) : 127, route->path,
             dots ? dots + 3 : "");
    for (size_t i = 0; route->method[i] && i + 1 < sizeof(method); i++) {
        method[i] = (char)tolower((unsigned char)route->method[i]);
        method[i + 1] = '\0';
    }
    item = json_object_get(paths, path);
    if (!item) {
        item = json_object();
        json_object_set_new(paths, path, item);
    }
    json_object_set_new(item, method, operation(route));
}

char *openapi_text(void)
{
    json_t *paths = json_object(), *document;
    char *text;

    for (const struct route *route = route_table; route->method; route++)
        add_route(paths, route);
    document =
        json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:[{s:s}], s:[{s:[]}], s:o, s:{s:o, "
                  "s:{s:{s:s, s:s}}}}",
                  "openapi", "3.1.0", "info", "title", "sandbox-run", "version", result_version(),
                  "description", "Runs untrusted code in a sandbox and says exactly what happened.",
                  "license", "name", "Apache-2.0", "identifier", "Apache-2.0", "servers", "url",
                  "/", "security", "token", "paths", paths, "components", "schemas", schemas(),
                  "securitySchemes", "token", "type", "http", "scheme", "bearer");
    text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    return text;
}
