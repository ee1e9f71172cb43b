#include "work/case_denials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

#define KIND(kind) (1U << (kind))
#define OF_NETWORK (KIND(DENIAL_CONNECT) | KIND(DENIAL_NAME))
#define OF_RIGHTS (KIND(DENIAL_FILE) | KIND(DENIAL_SYSCALL))

/* What programs print for an error that a denial of these kinds has caused.  Without kinds no
 * denial is noted for it: `why` says what a sandbox does not have. */
static const struct sign {
    const char *text; /* in any case of letters, unless it begins with a capital */
    unsigned int kinds;
    const char *why;
} signs[] = {
    { "network is unreachable", OF_NETWORK, NULL },
    { "ENETUNREACH", OF_NETWORK, NULL },
    { "failure in name resolution", OF_NETWORK, NULL },
    { "name or service not known", OF_NETWORK, NULL },
    { "could not resolve host", OF_NETWORK, NULL },
    { "UnknownHostException", OF_NETWORK, NULL },
    { "no such host", OF_NETWORK, NULL },
    { "EAI_AGAIN", OF_NETWORK, NULL },
    { "ENOTFOUND", OF_NETWORK, NULL },
    { "cannot allocate memory", KIND(DENIAL_MEMORY), NULL },
    { "MemoryError", KIND(DENIAL_MEMORY), NULL },
    { "bad_alloc", KIND(DENIAL_MEMORY), NULL },
    { "OutOfMemoryError", KIND(DENIAL_MEMORY), NULL },
    { "no space left on device", KIND(DENIAL_DISK), NULL },
    { "ENOSPC", KIND(DENIAL_DISK), NULL },
    { "resource temporarily unavailable", KIND(DENIAL_PROCESS), NULL },
    { "can't start new thread", KIND(DENIAL_PROCESS), NULL },
    { "EAGAIN", KIND(DENIAL_PROCESS), NULL },
    { "operation not permitted", OF_RIGHTS, NULL },
    { "permission denied", OF_RIGHTS, NULL },
    { "function not implemented", KIND(DENIAL_SYSCALL), NULL },
    { "read-only file system", KIND(DENIAL_FILE), NULL },
    { "EPERM", OF_RIGHTS, NULL },
    { "EACCES", OF_RIGHTS, NULL },
    { "EROFS", KIND(DENIAL_FILE), NULL },
    { "inappropriate ioctl for device", 0, "there is no terminal: --tty" },
    { "not a tty", 0, "there is no terminal: --tty" },
    { "/dev/tty", 0, "there is no terminal: --tty" },
    { "please tell me who you are", 0,
      "git has no identity: --env GIT_AUTHOR_NAME=… --env GIT_COMMITTER_NAME=… --env EMAIL=…" },
    { "unable to auto-detect email address", 0,
      "git has no identity: --env GIT_AUTHOR_NAME=… --env GIT_COMMITTER_NAME=… --env EMAIL=…" },
    { "connection refused", 0,
      "the loopback is the sandbox's own: start the server in the tests, or reach the host's with "
      "--network allow --allow-host localhost:PORT" },
    { "ECONNREFUSED", 0,
      "the loopback is the sandbox's own: start the server in the tests, or reach the host's with "
      "--network allow --allow-host localhost:PORT" },
};

/* The host of "host:port (name)", or the whole of another target. */
static bool names_target(const char *message, const struct denial *one)
{
    char target[sizeof(one->target)];
    size_t len = strcspn(one->target, one->kind == DENIAL_SYSCALL ? " (" : " ");

    if (len < 3 || len >= sizeof(target))
        return false;
    memcpy(target, one->target, len);
    target[len] = '\0';
    if (one->kind == DENIAL_CONNECT && strrchr(target, ':'))
        *strrchr(target, ':') = '\0';
    return strlen(target) > 2 && strstr(message, target) != NULL;
}

/* The denial whose target the message names; without one, the first of a kind that the message's
 * error comes from. */
static const struct denial *find_denial(const char *message, const struct denials *denials,
                                        unsigned int kinds)
{
    const struct denial *of_kind = NULL;

    for (size_t i = 0; i < denials->n; i++) {
        const struct denial *one = &denials->items[i];

        if (!(KIND(one->kind) & kinds))
            continue;
        if (names_target(message, one))
            return one;
        if (!of_kind)
            of_kind = one;
    }
    return of_kind;
}

static char *sentence_of(const struct denial *one)
{
    char *text = NULL;

    if (asprintf(&text, "refused: %s, by %s%s%s", one->target, one->rule,
                 one->remedy[0] ? "; " : "", one->remedy) < 0)
        return NULL;
    return text;
}

static bool shows(const char *message, const char *text)
{
    bool exact = *text >= 'A' && *text <= 'Z';

    return (exact ? strstr(message, text) : strcasestr(message, text)) != NULL;
}

/* NULL with false: nothing of the sandbox shows in the message. */
static bool explain(const char *message, const struct denials *denials, char **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        const struct denial *one;

        if (!shows(message, signs[i].text))
            continue;
        one = find_denial(message, denials, signs[i].kinds);
        if (!one && !signs[i].why)
            continue;
        *ret = one ? sentence_of(one) : strdup(signs[i].why);
        return true;
    }
    return false;
}

static char *lacks_packages(const char *why)
{
    char *text = NULL;

    return asprintf(&text, "the project's packages could not be installed: %s", why) < 0 ? NULL
                                                                                         : text;
}

int case_denials_note(struct report *r, const struct denials *denials, const char *not_installed,
                      sbr_error *err)
{
    for (size_t i = 0; i < r->n; i++) {
        struct report_case *c = &r->cases[i];

        bool known;

        if ((c->outcome != CASE_FAILED && c->outcome != CASE_BROKEN) || c->denial)
            continue;
        known = c->message && explain(c->message, denials, &c->denial);
        if (!known && not_installed)
            c->denial = lacks_packages(not_installed);
        if ((known || not_installed) && !c->denial)
            return err_set_oom(err, "report");
    }
    return 0;
}
