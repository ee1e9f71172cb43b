
#include "base/buf.h"
#include "http/route.h"
#include "model/result.h"

#define PAGE_MAX ((size_t)1 << 20)

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>sandbox-run: HTTP</title>\n"
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid;padding:.3em .6em;"
    "text-align:left;vertical-align:top}code{font-size:.85em;white-space:nowrap}"
    "td:nth-child(2){min-width:15em}td:nth-child(n+3) code{white-space:normal}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8cf}}</style>\n";

static void add_code(struct buf *out, const char *text)
{
    if (text)
        buf_printf(out, "<td><code>%s</code></td>", text);
    else
        buf_add_text(out, "<td>–</td>");
}

/* The table's own words have nothing that HTML would take for its own. */
static void add_row(struct buf *out, const struct route *route)
{
    buf_printf(out, "<tr id=\"%s\"><td><code>%s %s</code></td><td>%s</td>", route->operation,
               route->method, route->path, route->summary);
    add_code(out, route->body);
    add_code(out, route->result ? route->result : route->type);
    add_code(out, route->scope ? grant_scope_name(route->scope) : NULL);
    buf_add_text(out, "</tr>\n");
}

char *reference_text(void)
{
    struct buf out;

    buf_init(&out, PAGE_MAX);
    buf_add_text(&out, head);
    buf_printf(&out,
               "<h1>sandbox-run %s</h1>\n<p>Programs run by <code>POST /v1/executions</code> with "
               "<code>Authorization: Bearer TOKEN</code>; <code>sandbox-run token create</code> "
               "makes a token.  <a href=\"/openapi.json\">/openapi.json</a> has the schemas that "
               "the columns body and reply name.</p>\n<table><thead><tr><th>route<th>does<th>body"
               "<th>reply<th>scope</tr></thead><tbody>\n",
               result_version());
    for (const struct route *route = route_table; route->method; route++)
        add_row(&out, route);
    buf_add_text(&out, "</tbody></table></html>\n");
    return buf_take(&out, NULL);
}
