#include "secrets/side.h"

#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

static int outcome(struct side *side, int r)
{
    int error = SSL_get_error(side->ssl, r);

    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return SIDE_WAITS;
    return error == SSL_ERROR_ZERO_RETURN ? 0 : SIDE_BROKEN;
}

int side_shake(struct side *side)
{
    int r;

    if (!side->ssl || side->shaken)
        return 1;
    ERR_clear_error();
    r = SSL_do_handshake(side->ssl);
    if (r == 1) {
        side->shaken = true;
        return 1;
    }
    r = outcome(side, r);
    return r == SIDE_WAITS ? SIDE_WAITS : SIDE_BROKEN;
}

ssize_t side_read(struct side *side, char *data, size_t size)
{
    ssize_t n;
    int r;

    if (!side->ssl) {
        n = recv(side->watch.fd, data, size, 0);
        return n >= 0 ? n : errno == EAGAIN || errno == EINTR ? SIDE_WAITS : SIDE_BROKEN;
    }
    ERR_clear_error();
    r = SSL_read(side->ssl, data, (int)size);
    if (r > 0)
        return r;
    r = outcome(side, r);
    if (r == 0 && !(SSL_get_shutdown(side->ssl) & SSL_RECEIVED_SHUTDOWN))
        side->cut = true;
    return r;
}

ssize_t side_write(struct side *side, const char *data, size_t len)
{
    ssize_t n;
    int r;

    if (!side->ssl) {
        n = send(side->watch.fd, data, len, MSG_NOSIGNAL);
        return n >= 0 ? n : errno == EAGAIN || errno == EINTR ? SIDE_WAITS : SIDE_BROKEN;
    }
    ERR_clear_error();
    r = SSL_write(side->ssl, data, (int)len);
    return r > 0 ? r : outcome(side, r) == SIDE_WAITS ? SIDE_WAITS : SIDE_BROKEN;
}

void side_finish(struct side *side)
{
    if (side->ssl && side->shaken)
        (void)SSL_shutdown(side->ssl);
    ERR_clear_error();
    shutdown(side->watch.fd, SHUT_WR);
}

void side_close(struct side *side, struct loop *events, bool reset)
{
    const struct linger at_once = { .l_onoff = 1 };

    if (reset)
        setsockopt(side->watch.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    SSL_free(side->ssl);
    side->ssl = NULL;
    loop_close(events, &side->watch);
}
