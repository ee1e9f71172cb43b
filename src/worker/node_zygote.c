/* Node as a zygote: what languages/drivers/node-zygote.cjs calls.
 *
 * It uses few functions of Node's binary, found by name: those for addons, which every Node has,
 * and those that draw random numbers anew.  Where one of them is missing, where threads or file
 * descriptors are not as expected, or where a copy does not pass its trial, workers are no copies:
 * each executes a Node of its own, which waits as the driver of a standby does. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan/plan.h"
#include "worker/worker.h"

#define N_DRAWN 3

#if defined(__x86_64__)
#define ALL_PROTECTION_KEYS 15
#else
#define ALL_PROTECTION_KEYS 7
#endif

typedef void *napi_env;
typedef void *napi_value;
typedef int napi_status;
typedef napi_value (*napi_callback)(napi_env env, void *info);

/* What serve() returns, and in which copy of the zygote. */
enum role { ROLE_TRIAL, ROLE_SAMPLE, ROLE_WORKER, ROLE_ENDLESS };

/* Node's own exit code for a wait that nothing ends. */
#define ENDLESS_CODE 13

/* Functions of Node's binary. */
static struct {
    napi_status (*create_function)(napi_env env, const char *name, size_t len, napi_callback call,
                                   void *data, napi_value *ret);
    napi_status (*set_named)(napi_env env, napi_value object, const char *name, napi_value value);
    napi_status (*create_int)(napi_env env, int32_t value, napi_value *ret);
    napi_status (*get_arguments)(napi_env env, void *info, size_t *n, napi_value *ret,
                                 napi_value *ret_this, void **ret_data);
    napi_status (*get_double)(napi_env env, napi_value value, double *ret);
    napi_status (*get_loop)(napi_env env, void **ret);
    napi_status (*at_end)(napi_env env, void (*call)(void *), void *argument);
    void (*update_time)(void *loop);
    int (*renew_crypto)(void);
    void *(*current_isolate)(void);
    void *(*random_of)(void *isolate);
    void (*seed_random)(void *generator, int64_t seed);
} node;

/* The first ones are needed to load this library at all. */
#define N_FOR_LOADING 3
static const struct {
    const char *name;
    size_t place;
} functions[] = {
    { "napi_create_function", offsetof(__typeof__(node), create_function) },
    { "napi_set_named_property", offsetof(__typeof__(node), set_named) },
    { "napi_create_int32", offsetof(__typeof__(node), create_int) },
    { "napi_get_cb_info", offsetof(__typeof__(node), get_arguments) },
    { "napi_get_value_double", offsetof(__typeof__(node), get_double) },
    { "napi_get_uv_event_loop", offsetof(__typeof__(node), get_loop) },
    { "napi_add_env_cleanup_hook", offsetof(__typeof__(node), at_end) },
    { "uv_update_time", offsetof(__typeof__(node), update_time) },
    { "RAND_poll", offsetof(__typeof__(node), renew_crypto) },
    { "_ZN2v87Isolate10GetCurrentEv", offsetof(__typeof__(node), current_isolate) },
    { "_ZN2v88internal7Isolate23random_number_generatorEv", offsetof(__typeof__(node), random_of) },
    { "_ZN2v84base21RandomNumberGenerator7SetSeedEl", offsetof(__typeof__(node), seed_random) },
};

/* Shared with copies until the first worker: numbers that each of them drew. */
static struct {
    int n[ROLE_WORKER];
    double drawn[ROLE_WORKER][N_DRAWN];
} * trials;

static enum role role;

/* The number of functions that were found before the first missing one. */
static size_t find_functions(void)
{
    size_t i = 0;

    for (; i < ARRAY_LEN(functions); i++) {
        void *function = dlsym(RTLD_DEFAULT, functions[i].name);

        if (!function)
            break;
        memcpy((char *)&node + functions[i].place, &function, sizeof(function));
    }
    return i;
}

/* In a copy: everything that V8 and OpenSSL drew until now, all copies have in common. */
static bool draw_anew(void)
{
    void *isolate = node.current_isolate();
    int64_t seed;

    if (!isolate || getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        return false;
    node.seed_random(node.random_of(isolate), seed);
    return node.renew_crypto() == 1;
}

static int try_copy(enum role as, int code)
{
    role = as; /* of the copy */
    return copies_try(as == ROLE_SAMPLE, code, draw_anew);
}

static bool all_drew_differently(void)
{
    for (int i = 0; i < ROLE_WORKER; i++)
        if (trials->n[i] != N_DRAWN)
            return false;
    return copies_differ(trials->drawn, ROLE_WORKER * N_DRAWN);
}

/* Keys for memory that are in use would show here as missing. */
static bool has_protection_keys(void)
{
    long keys[ALL_PROTECTION_KEYS];
    int n = 0;

    while (n < ALL_PROTECTION_KEYS && (keys[n] = syscall(SYS_pkey_alloc, 0, 0)) > 0)
        n++;
    for (int i = 0; i < n; i++)
        (void)syscall(SYS_pkey_free, keys[i]);
    return n > 0 && n < ALL_PROTECTION_KEYS;
}

/* V8 draws a key for the code of WebAssembly where the kernel lets it.  A sandbox does not, so the
 * key could not be used there; without one, V8 does as it does in a cold run. */
static bool drop_protection_key(void)
{
    int *key = dlsym(RTLD_DEFAULT, "_ZN2v88internal19RwxMemoryWriteScope22memory_protection_key_E");

    if (key && *key > 0) {
        (void)syscall(SYS_pkey_free, *key);
        *key = -1;
    }
    return !has_protection_keys();
}

static bool can_be_copied(void)
{
    trials = mmap(NULL, sizeof(*trials), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return trials != MAP_FAILED && worker_plan() &&
           !plan_leaves_out(worker_plan(), "forked-node") &&
           find_functions() == ARRAY_LEN(functions) && drop_protection_key() &&
           threads_stop() == 0 && own_fds_note() == 0 && private_memory_inherit() == 0 &&
           prefault_begin() == 0;
}

static void __attribute__((noreturn)) end_zygote(int status)
{
    _exit(status); /* lint-ok: _exit: a zygote has nothing to tidy up */
}

static void serve_orders(void)
{
    copies_serve();
    role = ROLE_WORKER;
    if (!plan_leaves_out(worker_plan(), "own-random-bytes") && !draw_anew())
        end_zygote(1);
}

/* 0: in a copy; 1: copies work; -1: they do not. */
static int try_copies(void)
{
    int r = try_copy(ROLE_TRIAL, TRIAL_CODE);

    if (r == 1)
        r = try_copy(ROLE_SAMPLE, 0);
    if (r == 1 && !all_drew_differently())
        r = -1;
    if (r != 1)
        return r;
    prefault_end();
    r = try_copy(ROLE_ENDLESS, ENDLESS_CODE);
    if (r < 0) /* Node keeps this code elsewhere */
        node_end_whole();
    return r == 0 ? 0 : 1;
}

/* Returns in copies only. */
static napi_value serve(napi_env env, void *info)
{
    napi_value result = NULL;
    int r = can_be_copied() ? 1 : -1;

    (void)info;
    if (r == 1 && node_end_prepare() == 0 && node.at_end(env, node_end_now, NULL) != 0)
        node_end_whole();
    if (r == 1)
        r = try_copies();
    if (r < 0 && !copies_execute(NULL))
        end_zygote(1);
    if (r != 0)
        serve_orders();
    (void)node.create_int(env, (int32_t)role, &result);
    return result;
}

/* Three numbers that this copy drew. */
static napi_value tell_drawn(napi_env env, void *info)
{
    napi_value arguments[N_DRAWN];
    size_t n = N_DRAWN;

    if (role >= ROLE_WORKER || node.get_arguments(env, info, &n, arguments, NULL, NULL) != 0 ||
        n != N_DRAWN)
        return NULL;
    for (size_t i = 0; i < N_DRAWN; i++)
        if (node.get_double(env, arguments[i], &trials->drawn[role][i]) == 0)
            trials->n[role]++;
    return NULL;
}

/* The value that process.exitCode has; none: it was taken back. */
static napi_value look_for_code(napi_env env, void *info)
{
    static double value; /* the last one is still there when it was taken back */
    napi_value argument;
    size_t n = 1;

    if (node.get_arguments(env, info, &n, &argument, NULL, NULL) == 0 &&
        (n == 0 || node.get_double(env, argument, &value) == 0))
        node_end_look((int32_t)value, n == 1);
    return NULL;
}

static napi_value note_pages(napi_env env, void *info)
{
    (void)env;
    (void)info;
    prefault_note();
    return NULL;
}

/* Timers count from the time that the loop last saw. */
static napi_value update_time(napi_env env, void *info)
{
    void *loop = NULL;

    (void)info;
    if (node.get_loop(env, &loop) == 0)
        node.update_time(loop);
    return NULL;
}

/* Streams know what they write to from the beginning: for a run these are pipes. */
static napi_value use_pipes(napi_env env, void *info)
{
    int ends[2];

    (void)env;
    (void)info;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)dup2(ends[fd != STDIN_FILENO], fd);
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

/* Node finds it by that name. */
worker_api napi_value node_zygote_load(napi_env env,
                                       napi_value exports) __asm__("napi_register_module_v1");
napi_value node_zygote_load(napi_env env, napi_value exports)
{
    static const struct {
        const char *name;
        napi_callback call;
    } ours[] = { { "serve", serve },
                 { "tellDrawn", tell_drawn },
                 { "lookForCode", look_for_code },
                 { "notePages", note_pages },
                 { "updateTime", update_time },
                 { "usePipes", use_pipes } };

    if (find_functions() < N_FOR_LOADING)
        return exports;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        napi_value function;

        if (node.create_function(env, ours[i].name, strlen(ours[i].name), ours[i].call, NULL,
                                 &function) == 0)
            (void)node.set_named(env, exports, ours[i].name, function);
    }
    return exports;
}
