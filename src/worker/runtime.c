#include "worker/runtime.h"

#include <dlfcn.h>

/* A language that has no such function has nothing to be told. */
static void call(const char *name)
{
    void (*function)(void);

    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    if (function)
        function();
}

void runtime_before_fork(void)
{
    call("PyOS_BeforeFork");
}

void runtime_after_fork_in_parent(void)
{
    call("PyOS_AfterFork_Parent");
}

void runtime_after_fork_in_child(void)
{
    call("PyOS_AfterFork_Child");
}
