/* Functions for the driver of a zygote (languages/drivers); the zygote has the file
 * descriptors of wire/zygote.h. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <wchar.h>

#include "plan/plan.h"

#define worker_api __attribute__((visibility("default")))

/* Makes workers as long as orders come.  Returns DRIVER_GO in each worker, which is confined and
 * has sent its pid by then, and -1 in the zygote when no order will come: it shall exit then. */
worker_api int sbr_worker_next(void);

/* Inside of the library: the zygote's blueprint, or NULL; and a command that all further workers
 * execute, instead of being copies. */
struct plan;
const struct plan *worker_plan(void);
void worker_execute(char *const *command);

/* Makes a copy of the zygote, which shall run some program to its end: 0 in the copy, 1
 * in the zygote when the copy has ended, or -1.  Workers then fault in the pages that
 * this program needed. */
worker_api int sbr_worker_prefault(void);

/* Python: true when that file is a plain program and no file beside it would be found instead of
 * one of `modules`: names, each with its NUL, and an empty one. */
worker_api int sbr_worker_can_run(const char *script, const char *modules);

/* Where the interpreter keeps the path of its program.  `lead`: characters before `at` that make
 * the path absolute; 0: it is not. */
struct script_place {
    wchar_t *at;
    size_t lead;
};

/* Writes a path wherever the placeholder still is. */
worker_api void sbr_worker_put_script(const struct script_place *places, int n,
                                      const wchar_t *placeholder, const wchar_t *script,
                                      const wchar_t *absolute);

/* Python: to be called in the zygote when all modules are loaded; 0 or -1. */
worker_api int sbr_worker_prepare_finish(void);
/* Ends the finalisation early.  Serves as the destructor of an object that is destroyed after all
 * of the program's objects; is called with NULL where none of those has a destructor to run. */
worker_api void sbr_worker_finish(void *object);
/* Makes the whole finalisation run, because the state is unusual. */
worker_api void sbr_worker_finish_all(void);

/* Remembers the sizes of these dictionaries; `dictionaries` must stay where it is.  0 or -1. */
worker_api int sbr_worker_watch(const ssize_t *const *dictionaries, int n);
/* The first dictionary from number `from` on whose size has changed, or -1.  Only reads memory. */
worker_api int sbr_worker_changed(int from);

/* The end of a worker without exit handlers that have no visible effect. */

/* In the zygote, when all its libraries are loaded: copies that load no others skip the exit
 * handlers that are known now; 0 or -1. */
int finish_skip_handlers(void);
bool finish_has_same_libraries(void);

/* The file descriptors of a zygote's runtime: those of its event loops, and files that it reads. */

/* In a zygote, when all its threads are stopped: notes what each of them is.  0, or -1 when one is
 * of a kind that cannot be made again. */
int own_fds_note(void);

/* In a copy: replaces each by a new one of the same kind, in the same state; 0 or -1. */
int own_fds_renew(void);

/* Closes all file descriptors from `first` on, except these; 0 or -1. */
int own_fds_close_others(unsigned int first);

/* Faults in the pages of memory that a program will need. */

/* In the zygote, before and after a copy of it runs a sample; 0 or -1. */
int prefault_begin(void);
void prefault_end(void);
/* In that copy, at its beginning. */
void prefault_is_sample(void);

/* In a copy of the zygote that has run a program to its end: notes the pages that it touched. */
void prefault_note(void);

/* In a new worker: touches the same pages, before a client waits for it. */
void prefault_repeat(void);

/* Memory that a zygote and its workers must not share. */

/* In a zygote, before its first worker: replaces all memory that a worker could write to and the
 * zygote or another worker would read by a private copy; 0 or -1. */
int private_memory_take(void);

/* In a zygote: copies shall have all memory, also what the runtime keeps from them (V8 does,
 * because its threads would be missing); 0 or -1. */
int private_memory_inherit(void);

/* In a new worker: replaces the random bytes that the kernel gave the zygote; 0 or -1. */
int private_memory_random(void);

/* Threads of a zygote, and of its copies. */

/* In a zygote: stops all other threads for good.  0, or -1 when one of them does not wait or cannot
 * be made again in a copy; then no thread runs any more that must. */
int threads_stop(void);
bool threads_are_stopped(void);

/* Like fork(), without the handlers of libraries: the copy gets all threads back instead. */
pid_t threads_fork(void);

/* In a copy, when it is confined: makes the threads again, each where it was stopped; 0 or -1. */
int threads_resume(void);

/* Copies of a zygote that are tried before there are workers, and what workers do where copies do
 * not work. */

/* The exit code of a trial that did all that it should. */
#define TRIAL_CODE 42

/* Makes a copy without a sandbox, which runs a program of ours and shall end with that code in ten
 * seconds.  `renew`: what else the copy makes anew; NULL: nothing.  0: in the copy; 1: it did all
 * that it should; -1: it did not. */
int copies_try(bool sample, int code, bool (*renew)(void));

/* All further workers execute a runtime of their own: this process's command line without its last
 * word and, if it has them, without words equal to `left_out`; NULL: none.  False: it cannot be
 * read. */
bool copies_execute(const char *left_out);

/* In a zygote whose copies work, or execute a command: makes workers.  Returns in each worker, and
 * ends the zygote when no order will come. */
void copies_serve(void);

/* True when no two of so many numbers of eight bytes are equal. */
bool copies_differ(const void *numbers, size_t n);

/* The end of a worker of Node without the parts that nobody sees. */

/* In the zygote, after process.exitCode got this value; `is_set` is false after it was taken back.
 * Finds where Node keeps the code: three calls, with two different values. */
void node_end_look(int32_t value, bool is_set);

/* In the zygote: prepares the short end.  0, or -1: every worker takes the whole one. */
int node_end_prepare(void);

/* Node calls this when the program has ended, its exit handlers have run, its threads have ended
 * and its handles are closed.  Ends the process, or returns when it must take the whole end. */
void node_end_now(void *nothing);

/* The whole end for this process and its copies. */
void node_end_whole(void);

/* Continues in a function further down the stack, as if its callee had returned 0. */

/* Registers that a call leaves unchanged, by their DWARF numbers. */
#if defined(__x86_64__)
#define N_KEPT 6
static const int kept_registers[N_KEPT] = { 3, 6, 12, 13, 14, 15 }; /* rbx, rbp, r12 to r15 */
#elif defined(__aarch64__)
#define N_KEPT 11
static const int kept_registers[N_KEPT] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };
#else
#error "sandbox-run knows x86_64 and aarch64"
#endif

struct resume_point {
    uintptr_t address;
    uintptr_t stack;
    uintptr_t kept[N_KEPT];
};

/* False where the CPU keeps a second stack of return addresses. */
static inline bool resume_works(void)
{
#if defined(__x86_64__)
    uint64_t shadow = 0;

    __asm__ volatile("rdsspq %0" : "+r"(shadow)); /* does nothing without one */
    return shadow == 0;
#else
    return true;
#endif
}

static inline void __attribute__((noreturn)) resume_at(const struct resume_point *point)
{
#if defined(__x86_64__)
    __asm__ volatile("mov 16(%0), %%rbx\n\t"
                     "mov 24(%0), %%rbp\n\t"
                     "mov 32(%0), %%r12\n\t"
                     "mov 40(%0), %%r13\n\t"
                     "mov 48(%0), %%r14\n\t"
                     "mov 56(%0), %%r15\n\t"
                     "mov 8(%0), %%rsp\n\t"
                     "xor %%eax, %%eax\n\t"
                     "jmp *(%0)"
                     :
                     : "c"(point)
                     : "memory");
#else
    __asm__ volatile("ldp x19, x20, [%0, #16]\n\t"
                     "ldp x21, x22, [%0, #32]\n\t"
                     "ldp x23, x24, [%0, #48]\n\t"
                     "ldp x25, x26, [%0, #64]\n\t"
                     "ldp x27, x28, [%0, #80]\n\t"
                     "ldr x29, [%0, #96]\n\t"
                     "ldp x16, x17, [%0]\n\t"
                     "mov sp, x17\n\t"
                     "mov x0, #0\n\t"
                     "br x16"
                     :
                     : "r"(point)
                     : "x16", "x17", "memory");
#endif
    __builtin_unreachable();
}

/* A new worker confines itself in its sandbox. */
struct worker_confinement {
    const struct plan *plan;
    const int *order_fds; /* enum zygote_order_fd                                                 */
    bool group;           /* forked into a cgroup (v2): it still has to make its cgroup namespace */
};

/* Confines the process for good, as init confined itself; 0 or -1.  Afterwards it has file
 * descriptors 0, 1, 2, DRIVER_GO and the runtime's own. */
int confine_worker(const struct worker_confinement *worker_confinement);

#endif
