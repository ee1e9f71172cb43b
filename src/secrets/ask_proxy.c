#include "secrets/ask_proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/encoding.h"
#include "secrets/side.h"

#define ANSWER_MAX 8192
#define WORDS_MAX (2 * SECRET_MAX_BYTES)

static int add_credentials(struct buf *words, const struct secret_proxy *proxy)
{
    char *text = encoding_to_base64(proxy->credentials, proxy->len);

    if (!text)
        return -1;
    buf_printf(words, "Proxy-Authorization: Basic %s\r\n", text);
    explicit_bzero(text, strlen(text));
    free(text);
    return 0;
}

int ask_proxy_begin(struct ask_proxy *ask, const struct secret_proxy *proxy, const char *name,
                    uint16_t port)
{
    char host[HOSTNAME_SIZE + 16];

    snprintf(host, sizeof(host), strchr(name, ':') ? "[%s]:%u" : "%s:%u", name, port);
    ask->wanted = true;
    buf_init(&ask->words, WORDS_MAX);
    buf_printf(&ask->words, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", host, host);
    if (proxy->credentials && add_credentials(&ask->words, proxy) < 0)
        return -1;
    buf_printf(&ask->words, "\r\n");
    return ask->words.failed ? -1 : 0;
}

static int say(struct ask_proxy *ask, int fd)
{
    while (ask->sent < ask->words.len) {
        ssize_t n = send(fd, ask->words.data + ask->sent, ask->words.len - ask->sent, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? SIDE_WAITS : SIDE_BROKEN;
        ask->sent += (size_t)n;
    }
    ask_proxy_done(ask);
    return 1;
}

/* HTTP/1.1 200 and the like. */
static bool is_yes(const char *answer, size_t len)
{
    static const char begins[] = "HTTP/1.";

    return len > 12 && !memcmp(answer, begins, sizeof(begins) - 1) && answer[8] == ' ' &&
           answer[9] == '2';
}

static int refused(const struct secret_proxy *proxy, const char *what, char *why, size_t size)
{
    snprintf(why, size,
             strchr(proxy->host, ':') ? "the proxy [%.60s]:%u %s" : "the proxy %.60s:%u %s",
             proxy->host, proxy->port, what);
    return SIDE_BROKEN;
}

static int refused_by(const struct secret_proxy *proxy, const char *answer, size_t len, char *why,
                      size_t size)
{
    bool http = len > 12 && !memcmp(answer, "HTTP/1.", 7) && strspn(answer + 9, "0123456789") >= 3;
    char what[60];

    if (!http)
        return refused(proxy, "does not answer in HTTP/1.1", why, size);
    if (!memcmp(answer + 9, "407", 3))
        return refused(proxy, "wants another user or password (407)", why, size);
    snprintf(what, sizeof(what), "refuses the connection (%.3s)", answer + 9);
    return refused(proxy, what, why, size);
}

int ask_proxy_go_on(struct ask_proxy *ask, const struct secret_proxy *proxy, int fd, char *why,
                    size_t size)
{
    char answer[ANSWER_MAX + 1];
    size_t head;
    ssize_t n;
    int r = say(ask, fd);

    if (r == SIDE_BROKEN)
        return refused(proxy, "ends the connection", why, size);
    if (r == SIDE_WAITS)
        return r;
    n = recv(fd, answer, ANSWER_MAX, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return SIDE_WAITS;
    if (n <= 0)
        return refused(proxy, "ends the connection", why, size);
    answer[n] = '\0';
    head = http_head_length(answer, (size_t)n);
    if (!head && n == ANSWER_MAX)
        return refused(proxy, "answers with more than 8 KiB", why, size);
    if (!head)
        return SIDE_WAITS;
    if (!is_yes(answer, head))
        return refused_by(proxy, answer, head, why, size);
    return recv(fd, answer, head, 0) == (ssize_t)head
               ? 1
               : refused(proxy, "ends the connection", why, size);
}

void ask_proxy_done(struct ask_proxy *ask)
{
    if (ask->words.data)
        explicit_bzero(ask->words.data, ask->words.capacity);
    buf_done(&ask->words);
    ask->sent = 0;
}
