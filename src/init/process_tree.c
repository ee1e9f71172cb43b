#include "init/supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define MOST 8192 /* processes per walk; the next walk finds the rest */

struct queue {
    pid_t pids[MOST];
    size_t len;
};

#define MAX_TEXT (1u << 20)
#define STOP_LOOKS 10    /* at once: mostly the first ones are enough */
#define STOP_ROUNDS 2000 /* of a millisecond: on a busy machine a process stops at its turn */
#define THREADS_FIELD 18 /* of /proc/PID/stat, behind the name */

/* Adds the children of one thread: numbers separated by blanks. */
static void add_children(struct queue *queue, int task_fd, const char *thread)
{
    scoped_free char *text = NULL;
    scoped_fd int fd = -1;
    char path[64], *p, *end;
    sbr_error ignored;
    size_t len;

    snprintf(path, sizeof(path), "%.16s/children", thread);
    fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fd_read_text(fd, MAX_TEXT, &text, &len, &ignored) < 0)
        return;
    p = text;
    for (long pid; queue->len < MOST && (pid = strtol(p, &end, 10)) > 0; p = end)
        queue->pids[queue->len++] = (pid_t)pid;
}

static DIR *open_threads(int proc_fd, pid_t pid)
{
    char path[32];
    DIR *dir;
    int fd;

    snprintf(path, sizeof(path), "%d/task", (int)pid);
    fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

static void add_children_of(struct queue *queue, int proc_fd, pid_t pid)
{
    scoped_dir DIR *dir = open_threads(proc_fd, pid);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            add_children(queue, dirfd(dir), entry->d_name);
}

size_t process_tree_walk(int proc_fd, tree_visit *visit, void *context)
{
    static struct queue queue;

    queue.len = 0;
    add_children_of(&queue, proc_fd, getpid());
    for (size_t i = 0; i < queue.len; i++) {
        add_children_of(&queue, proc_fd, queue.pids[i]);
        visit(context, queue.pids[i]);
    }
    return queue.len;
}

void process_tree_all_but_init(int proc_fd, tree_visit *visit, void *context)
{
    int copy = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;

    if (!dir && copy >= 0)
        close(copy);
    while (dir && (entry = readdir(dir))) {
        long pid = strtol(entry->d_name, NULL, 10);

        if (pid > 1)
            visit(context, (pid_t)pid);
    }
}

static void send_one(void *context, pid_t pid)
{
    kill(pid, *(const int *)context);
}

size_t process_tree_signal(int proc_fd, int number)
{
    return process_tree_walk(proc_fd, send_one, &number);
}

/* Stops all processes until no more are found, because a stopped process makes no children:
 * otherwise a program that forks faster than init kills would survive. */
void process_tree_stop(int proc_fd)
{
    size_t before = 0;

    for (int round = 0; round < 100; round++) {
        size_t now = process_tree_signal(proc_fd, SIGSTOP);

        if (now == before)
            return;
        before = now;
    }
}

struct standing {
    int proc_fd;
    bool all;
};

/* After the name, which may have any character, comes the state. */
static bool stands(int dir_fd, const char *path, long *ret_threads)
{
    char text[512], *at;

    *ret_threads = 1;
    if (fd_read_small(dir_fd, path, text, sizeof(text)) <= 0)
        return true; /* it has ended */
    at = strrchr(text, ')');
    if (!at || !at[1] || !at[2])
        return true;
    if (!strchr("TtZX", at[2]))
        return false;
    for (int field = 1; at && field < THREADS_FIELD; field++)
        at = strchr(at + 2, ' ') ? strchr(at + 2, ' ') - 1 : NULL;
    *ret_threads = at ? strtol(at + 1, NULL, 10) : 1;
    return true;
}

/* One of them can be forking while the first one stands already. */
static bool threads_stand(int proc_fd, pid_t pid)
{
    scoped_dir DIR *dir = open_threads(proc_fd, pid);
    const struct dirent *entry;
    bool all = true;
    char path[64];
    long ignored;

    while (all && dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%.16s/stat", entry->d_name);
        all = entry->d_name[0] == '.' || stands(dirfd(dir), path, &ignored);
    }
    return all;
}

static void look_whether_it_stands(void *context, pid_t pid)
{
    struct standing *standing = context;
    char path[32];
    long threads;

    snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (standing->all)
        standing->all = stands(standing->proc_fd, path, &threads) &&
                        (threads < 2 || threads_stand(standing->proc_fd, pid));
}

void process_tree_await_stop(void)
{
    scoped_fd int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct standing standing = { .proc_fd = proc_fd };

    for (int round = 0; proc_fd >= 0 && round < STOP_LOOKS + STOP_ROUNDS; round++) {
        if (round > STOP_LOOKS)
            poll(NULL, 0, 1);
        standing.all = true;
        process_tree_all_but_init(proc_fd, look_whether_it_stands, &standing);
        if (standing.all)
            return;
    }
}

void process_tree_end(int proc_fd)
{
    process_tree_stop(proc_fd);
    for (;;) {
        pid_t pid;

        process_tree_signal(proc_fd, SIGKILL);
        do
            pid = waitpid(-1, NULL, WNOHANG);
        while (pid > 0 || (pid < 0 && errno == EINTR));
        if (pid < 0)
            return;
        poll(NULL, 0, 1);
    }
}
