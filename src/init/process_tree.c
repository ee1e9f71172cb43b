#include "init/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

#define MOST 8192 /* processes per walk; the next walk finds the rest */

struct queue {
    pid_t pids[MOST];
    size_t len;
};

#define MAX_TEXT (1u << 20)
#define STOP_ROUNDS 20 /* of a millisecond */

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

static void add_children_of(struct queue *queue, int proc_fd, pid_t pid)
{
    char path[32];
    scoped_dir DIR *dir = NULL;
    const struct dirent *entry;
    int fd;

    snprintf(path, sizeof(path), "%d/task", (int)pid);
    fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
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

static void send(void *context, pid_t pid)
{
    kill(pid, *(const int *)context);
}

size_t process_tree_signal(int proc_fd, int number)
{
    return process_tree_walk(proc_fd, send, &number);
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
static void look_whether_it_stands(void *context, pid_t pid)
{
    struct standing *standing = context;
    char path[32], text[512];
    const char *name_end;

    snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (fd_read_small(standing->proc_fd, path, text, sizeof(text)) <= 0)
        return; /* it has ended */
    name_end = strrchr(text, ')');
    if (name_end && name_end[1] && !strchr("TtZX", name_end[2]))
        standing->all = false;
}

void process_tree_await_stop(void)
{
    scoped_fd int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct standing standing = { .proc_fd = proc_fd };

    for (int round = 0; round < STOP_ROUNDS && proc_fd >= 0 && !standing.all; round++) {
        if (round)
            poll(NULL, 0, 1);
        standing.all = true;
        process_tree_all_but_init(proc_fd, look_whether_it_stands, &standing);
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
