/* URLs that results may be sent to. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialect/judge0.h"
#include "http/server.h"

bool judge0_callback_host(const char *url, char host[static JUDGE0_HOST_SIZE])
{
    bool tls = !strncasecmp(url, "https://", 8);
    const char *at = tls ? url + 8 : url + 7;
    size_t len;

    if (!tls && strncasecmp(url, "http://", 7) != 0)
        return false;
    len = strcspn(at, "/?#");
    if (!len || len > 250 || memchr(at, '@', len) || memchr(at, '[', len) ||
        url[strcspn(url, " \t\r\n\\")])
        return false;
    snprintf(host, JUDGE0_HOST_SIZE, "%.*s%s", (int)len, at,
             memchr(at, ':', len) ? ""
             : tls                ? ":443"
                                  : ":80");
    return true;
}

bool judge0_callback_is_allowed(const struct server *server, const char *url)
{
    char host[JUDGE0_HOST_SIZE];

    if (!judge0_callback_host(url, host))
        return false;
    for (size_t i = 0; server->options.callbacks[i]; i++) {
        const char *allowed = server->options.callbacks[i];
        size_t len = strchr(allowed, ':') ? strlen(host) : strcspn(host, ":");

        if (strlen(allowed) == len && !strncasecmp(allowed, host, len))
            return true;
    }
    return false;
}
