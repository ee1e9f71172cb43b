
#include <signal.h>

#include "cli/cli.h"

int exit_status_of(const sbr_result *r, int signal)
{
    /* The status of a failed stage stands for the program, which did not run. */
    if ((r->verdict == SBR_COMPILE_FAILED || r->verdict == SBR_INSTALL_FAILED) && r->n_before)
        return exit_status_of(r->before[r->n_before - 1], signal);
    switch (r->verdict) {
    case SBR_TIMEOUT:
    case SBR_CPU_LIMIT:
        return EXIT_TIMEOUT;
    case SBR_DENIED:
        return EXIT_DENIED;
    case SBR_CANCELLED:
        return EXIT_SIGNAL + (signal ? signal : SIGTERM);
    case SBR_INTERNAL_ERROR:
        return EXIT_OURS;
    case SBR_OUTPUT_LIMIT:
    case SBR_MEMORY_LIMIT:
        return EXIT_SIGNAL + SIGKILL;
    case SBR_EXITED:
    case SBR_SIGNALED:
    case SBR_DISK_LIMIT:
    case SBR_PROCESS_LIMIT:
    case SBR_COMPILE_FAILED:
    case SBR_INSTALL_FAILED:
        break;
    }
    return r->signal ? EXIT_SIGNAL + r->signal : r->exit_code;
}
