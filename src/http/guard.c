#include "http/handlers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/encoding.h"
#include "base/err.h"
#include "http/dialect.h"
#include "http/holdings.h"
#include "http/server.h"
#include "http/token.h"

#define BASIC "Basic "
#define BEARER "Bearer "
#define PROTOCOL_BEARER "bearer."

static bool refuse(struct exchange *x, unsigned int status, const char *detail, const char *remedy)
{
    problem_reply(x, &(struct problem){ .status = status, .detail = detail, .remedy = remedy });
    return false;
}

/* A header that two parsers may read differently. */
struct framing {
    unsigned int lengths, encodings, hosts, tokens;
    bool bad_length, bad_encoding, bad_name, bad_value;
};

static void look_at_header(void *context, const char *name, const char *value)
{
    struct framing *framing = context;

    for (const char *c = name; *c; c++)
        framing->bad_name |= !isalnum((unsigned char)*c) && !strchr("!#$%&'*+-.^_`|~", *c);
    for (const char *c = value; c && *c; c++) /* a carriage return may be the end of a line */
        framing->bad_value |= iscntrl((unsigned char)*c) && *c != '\t';
    if (!strcasecmp(name, HTTP_HEADER_CONTENT_LENGTH)) {
        framing->lengths++;
        framing->bad_length |= !value || !*value || value[strspn(value, "0123456789")];
    }
    if (!strcasecmp(name, HTTP_HEADER_TRANSFER_ENCODING)) {
        framing->encodings++;
        framing->bad_encoding |= !value || strcasecmp(value, "chunked") != 0;
    }
    framing->hosts += !strcasecmp(name, HTTP_HEADER_HOST);
    framing->tokens += !strcasecmp(name, HTTP_HEADER_AUTHORIZATION);
}

/* Where a message ends must not be a matter of opinion: the connection is closed after this. */
static bool check_framing(struct exchange *x)
{
    struct framing framing = { 0 };
    bool bad;

    exchange_each_header(x, look_at_header, &framing);
    bad = framing.lengths > 1 || framing.encodings > 1 || (framing.lengths && framing.encodings) ||
          framing.bad_length || framing.bad_encoding || framing.bad_name || framing.bad_value ||
          framing.hosts > 1 || framing.tokens > 1 || x->path[0] != '/';
    if (!bad)
        return true;
    refuse(x, HTTP_BAD_REQUEST, "the request line or the headers can be read in more than one way",
           "send one Content-Length or one Transfer-Encoding: chunked, one Host, and a path");
    exchange_add_header(x, HTTP_HEADER_CONNECTION, "close");
    return false;
}

static bool is_listed(const char *const *list, const char *value)
{
    for (; *list; list++)
        if (!strcasecmp(*list, value))
            return true;
    return false;
}

/* The name without its port; empty: what is behind the name is no port. */
static void host_name(const char *host, char *name, size_t size)
{
    const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
    size_t len = bracket ? (size_t)(bracket + 1 - host) : strcspn(host, ":");
    const char *port = host + len;

    if (*port && (*port != ':' || port[1 + strspn(port + 1, "0123456789")]))
        len = 0;
    snprintf(name, size, "%.*s", (int)len, host);
}

/* A page of a browser can reach loopback, by a name of its own that resolves to it. */
static bool check_host(struct exchange *x)
{
    static const char *const own[] = { "127.0.0.1", "localhost", "[::1]", NULL };
    const char *host = exchange_header(x, HTTP_HEADER_HOST);
    char name[256] = "";

    if (!x->visitor->tcp)
        return true;
    if (host)
        host_name(host, name, sizeof(name));
    if (is_listed(own, name) || is_listed(x->server->options.hosts, name))
        return true;
    return refuse(x, HTTP_MISDIRECTED_REQUEST, "the header Host names another host",
                  "the operator allows names with --allow-host");
}

static bool check_origin(struct exchange *x)
{
    const char *origin = exchange_header(x, HTTP_HEADER_ORIGIN);

    if (!origin || is_listed(x->server->options.origins, origin))
        return true;
    return refuse(x, HTTP_FORBIDDEN, "pages of this origin may not use the gateway",
                  "the operator allows origins with --allow-origin");
}

/* A page cannot set headers of a WebSocket, so its token may be one of the offered protocols. */
static bool token_among_protocols(const struct exchange *x, char *token, size_t size)
{
    const char *at = exchange_header(x, "Sec-WebSocket-Protocol");

    at = at ? strstr(at, PROTOCOL_BEARER) : NULL;
    if (!at)
        return false;
    at += strlen(PROTOCOL_BEARER);
    snprintf(token, size, "%.*s", (int)strcspn(at, ", "), at);
    return true;
}

/* The password of `Basic`, for clients that take a URL and nothing else. */
static bool token_of_basic(const char *header, char *token, size_t size)
{
    scoped_free char *text = NULL;
    const char *colon;
    size_t len;

    if (strncasecmp(header, BASIC, strlen(BASIC)) != 0 ||
        encoding_from_base64(header + strlen(BASIC), &text, &len) < 0)
        return false;
    colon = memchr(text, ':', len);
    if (!colon)
        return false;
    snprintf(token, size, "%.*s", (int)(len - (size_t)(colon + 1 - text)), colon + 1);
    return true;
}

/* Clients of a dialect have a header of their own, or a token without `Bearer`. */
static bool token_of_dialect(const struct exchange *x, char *token, size_t size)
{
    const char *header = exchange_header(x, HTTP_HEADER_AUTHORIZATION), *value;

    for (size_t i = 0; x->dialect && x->dialect->token_headers[i]; i++)
        if ((value = exchange_header(x, x->dialect->token_headers[i]))) {
            snprintf(token, size, "%s", value);
            return true;
        }
    if (!x->dialect || !header || !strncasecmp(header, BEARER, strlen(BEARER)))
        return false;
    if (!token_of_basic(header, token, size))
        snprintf(token, size, "%s", header);
    return true;
}

/* The local user at the unix socket needs no token: the socket is theirs alone. */
static bool check_token(struct exchange *x)
{
    const char *header = exchange_header(x, HTTP_HEADER_AUTHORIZATION);
    char offered[TOKEN_TEXT_SIZE + sizeof(BEARER)] = BEARER;
    sbr_error err;

    if (token_of_dialect(x, offered + strlen(BEARER), TOKEN_TEXT_SIZE))
        header = offered;
    if (!header && token_among_protocols(x, offered + strlen(BEARER), TOKEN_TEXT_SIZE))
        header = offered;
    if (!header && !x->visitor->tcp) {
        grant_init_local(&x->tenant);
        return true;
    }
    if (!header)
        return refuse(x, HTTP_UNAUTHORIZED, "the request has no token",
                      "send `Authorization: Bearer TOKEN`; `sandbox-run token create` makes one");
    if (strncasecmp(header, BEARER, strlen(BEARER)) != 0 ||
        token_check(x->server->tokens, header + strlen(BEARER), &x->tenant, &err) < 0)
        return refuse(x, HTTP_UNAUTHORIZED, "the token is unknown, revoked or expired",
                      "`sandbox-run token create` makes one");
    return true;
}

static bool check_scope(struct exchange *x)
{
    char remedy[120];

    if ((x->tenant.scopes & x->route->scope) == x->route->scope)
        return true;
    snprintf(remedy, sizeof(remedy), "it needs the scope `%s`", grant_scope_name(x->route->scope));
    return refuse(x, HTTP_FORBIDDEN, "the token does not allow this", remedy);
}

static bool check_body(struct exchange *x)
{
    const char *type = exchange_header(x, HTTP_HEADER_CONTENT_TYPE);
    const char *length = exchange_header(x, HTTP_HEADER_CONTENT_LENGTH);
    uint64_t bytes = length ? strtoull(length, NULL, 10) : 0;
    size_t n = type ? strcspn(type, "; ") : 0;

    if (bytes > x->server->options.max_body)
        return refuse(x, HTTP_CONTENT_TOO_LARGE, "the body is larger than the gateway takes",
                      "the operator can raise --max-body");
    if (!(x->route->flags & ROUTE_JSON))
        return true;
    if (n == strlen(JSON_TYPE) && !strncasecmp(type, JSON_TYPE, n))
        return true;
    return refuse(x, HTTP_UNSUPPORTED_MEDIA_TYPE, "the body must be application/json",
                  "send `Content-Type: application/json`");
}

static bool check_rate(struct exchange *x)
{
    if (!(x->route->flags & ROUTE_STARTS))
        return true;
    if (x->server->ending) {
        problem_reply(x, &(struct problem){ .status = HTTP_SERVICE_UNAVAILABLE,
                                            .detail = "the gateway is about to end",
                                            .retry_s = 5 });
        return false;
    }
    return guard_takes(x, 1);
}

bool guard_takes(struct exchange *x, size_t starts)
{
    struct refusal refusal = { 0 };

    if (ledger_count_starts(&x->server->holdings.ledger, &x->tenant, (unsigned int)starts,
                            &refusal) == 0)
        return true;
    holdings_refuse(x, &refusal);
    return false;
}

bool guard_admits(struct exchange *x, const char *method)
{
    if (!check_framing(x) || !check_host(x) || !check_origin(x))
        return false;
    x->route = route_find(x, method);
    if (!x->route)
        return false;
    if (x->route->flags & ROUTE_OPEN)
        return true;
    return check_token(x) && check_scope(x) && check_body(x) && check_rate(x);
}
