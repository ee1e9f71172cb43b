/* The JVM as a zygote: what languages/drivers/JavaWarm.java calls.
 *
 * The JVM loads this library as an agent (-agentpath), because it looks for the functions of a
 * class like ours in its own library and in agents only.  The agent asks for no capability, so
 * nothing in the JVM changes.  Of the JVM's interface, two functions are used, by their numbers in
 * the table that every JVM has had since 1.1.
 *
 * Where threads or file descriptors are not as expected, or where a copy does not pass its trial,
 * workers are no copies: each executes a JVM of its own, which waits as the driver of a standby
 * does. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan/plan.h"
#include "worker/worker.h"

/* The option by which a zygote has this library; /proc/self/fd/5 is ZYGOTE_LIBRARY. */
#define AGENT_OPTION "-agentpath:/proc/self/fd/5"

/* Numbers of functions in the table. */
#define GET_ARRAY_LENGTH 171
#define GET_BYTE_ARRAY_REGION 200

#define N_DRAWN 3

typedef void *const **jni_env; /* points to the table */

/* What serve() returns, and in which copy of the zygote; JavaWarm.java has the same numbers. */
enum role { ROLE_TRIAL, ROLE_DRAWING, ROLE_SAMPLE, ROLE_WORKER };

/* Shared with copies until the first worker: numbers that the first two of them drew. */
static struct {
    int n[ROLE_SAMPLE];
    int64_t drawn[ROLE_SAMPLE][N_DRAWN];
} * trials;

static enum role role;

static bool can_be_copied(void)
{
    trials = mmap(NULL, sizeof(*trials), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return trials != MAP_FAILED && worker_plan() &&
           !plan_leaves_out(worker_plan(), "forked-java") && finish_skip_handlers() == 0 &&
           threads_stop() == 0 && own_fds_note() == 0 && private_memory_inherit() == 0 &&
           prefault_begin() == 0;
}

static int try_copy(enum role as, int code)
{
    role = as; /* of the copy */
    return copies_try(as == ROLE_SAMPLE, code, NULL);
}

static bool all_drew_differently(void)
{
    for (int i = 0; i < ROLE_SAMPLE; i++)
        if (trials->n[i] != N_DRAWN)
            return false;
    return copies_differ(trials->drawn, ROLE_SAMPLE * N_DRAWN);
}

/* 0: in a copy; 1: copies work; -1: they do not. */
static int try_copies(void)
{
    int r = try_copy(ROLE_TRIAL, TRIAL_CODE);

    if (r == 1)
        r = try_copy(ROLE_DRAWING, TRIAL_CODE);
    if (r == 1 && !all_drew_differently())
        r = -1;
    if (r == 1)
        r = try_copy(ROLE_SAMPLE, 0);
    if (r == 1)
        prefault_end();
    return r;
}

/* Returns in copies only. */
worker_api int32_t java_zygote_serve(jni_env env,
                                     void *class) __asm__("Java_sandboxrun_JavaWarm_serve");
int32_t java_zygote_serve(jni_env env, void *class)
{
    int r = can_be_copied() ? try_copies() : -1;

    (void)env;
    (void)class;
    if (r < 0 && !copies_execute(AGENT_OPTION))
        _exit(1); /* lint-ok: _exit: a zygote has nothing to tidy up */
    if (r != 0) {
        copies_serve();
        role = ROLE_WORKER;
    }
    return (int32_t)role;
}

/* Three numbers that this copy drew. */
/* NOLINTNEXTLINE(readability-function-size): as the JVM calls it */
worker_api void java_zygote_tell(jni_env env, void *class, int64_t first, int64_t second,
                                 int64_t third) __asm__("Java_sandboxrun_JavaWarm_tellDrawn");
/* NOLINTNEXTLINE(readability-function-size): as the JVM calls it */
void java_zygote_tell(jni_env env, void *class, int64_t first, int64_t second, int64_t third)
{
    const int64_t drawn[N_DRAWN] = { first, second, third };

    (void)env;
    (void)class;
    if (role >= ROLE_SAMPLE)
        return;
    memcpy(trials->drawn[role], drawn, sizeof(drawn));
    trials->n[role] = N_DRAWN;
}

/* Variables that the JVM and the C library read only when they start.  A run that has others than
 * the zygote needs a JVM of its own. */
static bool is_of_start(const char *variable)
{
    static const char *const beginnings[] = { "JAVA_", "_JAVA_",  "JDK_",   "LANG",   "LC_",
                                              "LD_",   "MALLOC_", "GLIBC_", "NLSPATH" };

    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
        if (!strncmp(variable, beginnings[i], strlen(beginnings[i])))
            return true;
    return false;
}

static bool has(char *const *variables, const char *wanted)
{
    for (; *variables; variables++)
        if (!strcmp(*variables, wanted))
            return true;
    return false;
}

static bool start_differs(char *const *one, char *const *other)
{
    for (; *one; one++)
        if (is_of_start(*one) && !has(other, *one))
            return true;
    return false;
}

/* The next NUL-terminated text of an order; NULL: there is none. */
static char *next_text(char **at, const char *end)
{
    char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

    if (!nul)
        return NULL;
    *at = nul + 1;
    return text;
}

/* The variables of an order (wire/zygote.h), as an array; NULL: it is no order. */
static char **variables_of(char *order, const char *end)
{
    char *text = next_text(&order, end), **variables;
    unsigned long n;

    text = text ? next_text(&order, end) : NULL;
    for (n = text ? strtoul(text, NULL, 10) : 0; text && n > 0; n--)
        text = next_text(&order, end);
    text = text ? next_text(&order, end) : NULL;
    n = text ? strtoul(text, NULL, 10) : 0;
    if (!text || n > (size_t)(end - order))
        return NULL;
    variables = calloc(n + 1, sizeof(*variables));
    for (unsigned long i = 0; variables && i < n; i++)
        if (!(variables[i] = next_text(&order, end))) {
            free(variables);
            return NULL;
        }
    return variables;
}

/* Makes the variables of an order the environment; false when the order is none, or only another
 * JVM can have its variables. */
static bool take_environment(char *order, const char *end)
{
    char **variables = variables_of(order, end);

    if (!variables || start_differs(variables, environ) || start_differs(environ, variables)) {
        free(variables);
        return false;
    }
    environ = variables;
    return true;
}

/* Gives a worker the environment of its order, before the JVM or the program looks at it: Java
 * reads it once.  False: the run needs a JVM of its own. */
worker_api uint8_t java_zygote_environment(jni_env env, void *class, void *order) __asm__(
    "Java_sandboxrun_JavaWarm_putEnvironment");
uint8_t java_zygote_environment(jni_env env, void *class, void *order)
{
    int32_t (*length)(jni_env, void *);
    void (*region)(jni_env, void *, int32_t, int32_t, char *);
    char *bytes;
    int32_t len;

    (void)class;
    memcpy(&length, &(*env)[GET_ARRAY_LENGTH], sizeof(length));
    memcpy(&region, &(*env)[GET_BYTE_ARRAY_REGION], sizeof(region));
    len = length(env, order);
    bytes = malloc((size_t)len + 1);
    if (!bytes)
        return false;
    region(env, order, 0, len, bytes);
    if (take_environment(bytes, bytes + len))
        return true; /* the environment points into the bytes */
    free(bytes);
    return false;
}

/* The JVM asks for it; there is nothing to do. */
worker_api int32_t java_zygote_load(void *vm, char *options,
                                    void *reserved) __asm__("Agent_OnLoad");
int32_t java_zygote_load(void *vm, char *options, void *reserved)
{
    (void)vm;
    (void)options;
    (void)reserved;
    return 0;
}
