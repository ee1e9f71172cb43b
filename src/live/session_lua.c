/* What the Lua kernel of a session needs and Lua lacks: a file descriptor, and SIGINT as an error.
 * The driver loads each function with package.loadlib.  Those of Lua that are called here are the
 * same in Lua 5.1 to 5.4 and in LuaJIT, so that no header of one version is needed; numbers come as
 * text, because the functions for numbers differ. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define HIGH_FD 200
#define READ_SIZE 65536
#define HOOK_ALL 0xf /* call, return, line, count */

typedef struct lua_State lua_State;
typedef struct lua_Debug lua_Debug;

extern const char *lua_tolstring(lua_State *L, int index, size_t *len);
extern const char *lua_pushlstring(lua_State *L, const char *text, size_t len);
extern void lua_sethook(lua_State *L, void (*hook)(lua_State *L, lua_Debug *ar), int mask,
                        int count);
extern int luaL_error(lua_State *L, const char *format, ...);

int session_lua_open(lua_State *L);
int session_lua_read(lua_State *L);
int session_lua_write(lua_State *L);
int session_lua_interruptible(lua_State *L);

static int channel = -1;
static lua_State *volatile running; /* NULL: no cell runs */

static void stop(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

/* lua_sethook may be called from a handler: Lua's own prompt does. */
static void on_interrupt(int number)
{
    (void)number;
    if (running)
        lua_sethook(running, stop, HOOK_ALL, 1);
}

static int watch(void)
{
    struct sigaction action = { .sa_handler = on_interrupt }; /* no SA_RESTART: a read ends */
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return sigaction(SIGINT, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0;
}

/* open(FD): takes the channel from there, so that no child has it. */
EXPORT int session_lua_open(lua_State *L)
{
    int fd = (int)strtol(lua_tolstring(L, 1, NULL), NULL, 10);

    channel = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (channel < 0)
        channel = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    if (channel < 0 || watch())
        return luaL_error(L, "the channel cannot be opened");
    close(fd);
    return 0;
}

/* read(MOST): some bytes; none when the channel is closed. */
EXPORT int session_lua_read(lua_State *L)
{
    static char bytes[READ_SIZE];
    size_t most = strtoul(lua_tolstring(L, 1, NULL), NULL, 10);
    ssize_t n;

    do
        n = read(channel, bytes, most < READ_SIZE ? most : READ_SIZE);
    while (n < 0 && errno == EINTR);
    lua_pushlstring(L, bytes, n > 0 ? (size_t)n : 0);
    return 1;
}

/* A cell's output comes before its end.  Lua's io.stdout may be another stream than C's, into whose
 * buffer it writes (live.c), so a flush of Lua's leaves bytes there. */
EXPORT int session_lua_write(lua_State *L)
{
    size_t len, at = 0;
    const char *bytes = lua_tolstring(L, 1, &len);

    (void)fflush(stdout);
    while (at < len) {
        ssize_t n = write(channel, bytes + at, len - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return luaL_error(L, "the session has ended");
        at += (size_t)n;
    }
    return 0;
}

/* interruptible("1" or ""): from here on SIGINT is an error, or nothing. */
EXPORT int session_lua_interruptible(lua_State *L)
{
    bool on = *lua_tolstring(L, 1, NULL) == '1';

    running = on ? L : NULL;
    if (!on)
        lua_sethook(L, NULL, 0, 0); /* of an interrupt that came too late */
    return watch() ? luaL_error(L, "SIGINT cannot be watched") : 0;
}
