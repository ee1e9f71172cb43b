#include "http/admission.h"

#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "changes/state_dir.h"
#include "http/execution.h"
#include "http/server.h"
#include "job/engine_socket.h"
#include "lib/runner.h"
#include "session/session_memory.h"
#include "work/work_limits.h"

#define KEPT_BYTES ((uint64_t)1 << 30) /* of the output of a run with `keep_output` */
#define LOOK_US 1000000

int admission_open(const struct config *config, uint64_t *ret_memory, sbr_error *err)
{
    const char *text = config->user ? config->user->http.memory : NULL;
    struct sysinfo info;

    if (text && text_parse_size(text, ret_memory) != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "config", "http.memory '%.60s' is no size such as 8g",
                       text);
    if (!text)
        *ret_memory =
            sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit / 10 * 9 : UINT64_MAX;
    return 0;
}

/* What runs that have not ended may use. */
static struct admission_need reserved(struct server *server)
{
    struct admission_need sum = { server->sessions.making, 0 };
    uint64_t now_us = clock_now_us();

    if (now_us > server->sessions.looked_us + LOOK_US) { /* they end by themselves, too */
        server->sessions.memory = session_memory_of_all();
        server->sessions.looked_us = now_us;
    }
    sum.memory += server->sessions.memory;
    list_each(at, &server->live) {
        const struct execution *e = link_owner(at, struct execution, live);

        sum.memory += e->need.memory;
        sum.disk += e->need.disk;
    }
    return sum;
}

/* Files of runs are memory, but workspaces, kept changes and kept output are not.  `keeps`: how
 * many runs keep their changes, which a workspace does by itself. */
static uint64_t disk_of(const sbr_request *req, uint64_t limit, unsigned int keeps)
{
    return limit * (req->workspace ? 1 : keeps) + (req->keep_output ? KEPT_BYTES : 0);
}

struct admission_need admission_need_of(const sbr_request *req)
{
    return (struct admission_need){ runner_memory_of(req),
                                    disk_of(req, req->limits.value[SBR_DISK_BYTES], req->keep) };
}

struct admission_need admission_need_of_work(const sbr_request *req, unsigned int keeps)
{
    struct limits limits = req->limits;
    uint64_t stages = runner_memory_of_any(req), own;
    sbr_error ignored; /* presets are within their bounds */

    (void)!work_limits_set(&limits, &ignored);
    own = limits.value[SBR_MEMORY_BYTES];
    return (struct admission_need){ own > stages ? own : stages,
                                    disk_of(req, limits.value[SBR_DISK_BYTES],
                                            keeps ? keeps : req->keep) };
}

static bool has_engine(void)
{
    int fd;

    if (engine_connect(&fd) < 0)
        return false;
    (void)close(fd);
    return true;
}

/* A run that alone needs more than there is has the machine to itself. */
static int check_memory(struct server *server, uint64_t wanted, sbr_error *err)
{
    uint64_t taken = reserved(server).memory;

    if (!taken || (taken <= server->memory && wanted <= server->memory - taken) || has_engine())
        return 0;
    return err_set(err, SBR_E_BUSY, "http",
                   "the memory of this machine is reserved for other runs and sessions; ask again, "
                   "lower the memory limit, or let the operator start an engine");
}

/* What runs have written already is counted twice: as used, and as theirs to use. */
static int check_disk(struct server *server, uint64_t wanted, sbr_error *err)
{
    uint64_t taken = reserved(server).disk;
    struct state_dir dir = { .fd = -1 };
    struct statvfs room;
    int r = 0;

    if (!wanted)
        return 0;
    if (state_open(".", true, &dir, err) < 0)
        return err->code;
    if (fstatvfs(dir.fd, &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize < wanted + taken)
        r = err_set(err, SBR_E_BUSY, "http",
                    "the disk has no room for what this run may leave, beside the runs that have "
                    "not ended; ask again, remove workspaces, or lower the disk limit");
    state_close(&dir);
    return r;
}

int admission_check(struct server *server, const struct admission_need *need, sbr_error *err)
{
    if (check_memory(server, need->memory, err) < 0)
        return err->code;
    return check_disk(server, need->disk, err);
}

int admission_begin_session(struct server *server, uint64_t memory, sbr_error *err)
{
    server->sessions.looked_us = 0;
    if (check_memory(server, memory, err) < 0)
        return err->code;
    server->sessions.making += memory;
    return 0;
}

void admission_end_session(struct server *server, uint64_t memory)
{
    server->sessions.making -= memory;
    server->sessions.looked_us = 0;
}

bool admission_has_sessions(const struct server *server)
{
    return session_memory_of_all() <= server->memory || has_engine();
}
