/* Objects by which two sandboxes could meet: one holds, the other finds. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

/* Removes what it made, also where there is no namespace that would. */
static int hold_sysv(int id, int (*remove)(int))
{
    if (id < 0)
        return not("create");
    hold("sysv");
    remove(id);
    return got("held");
}

static int remove_shm(int id)
{
    return shmctl(id, IPC_RMID, NULL);
}

static int remove_sem(int id)
{
    return semctl(id, 0, IPC_RMID);
}

static int remove_msg(int id)
{
    return msgctl(id, IPC_RMID, NULL);
}

static int hold_queue(const char *name)
{
    struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
    mqd_t queue;

    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0666, &attr);
    if (queue < 0)
        return not("mq_open");
    hold("queue");
    mq_unlink(name);
    return got("held");
}

static int hold_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);

    if (fd < 0)
        return not("open");
    fchmod(fd, 0666);
    hold("file");
    unlink(path);
    return got("held");
}

static socklen_t abstract_name(struct sockaddr_un *name, const char *text)
{
    *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
    strncpy(name->sun_path + 1, text, sizeof(name->sun_path) - 2);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(text));
}

static int hold_abstract(const char *text)
{
    struct sockaddr_un name;
    socklen_t len = abstract_name(&name, text);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&name, len) < 0 || listen(fd, 1) < 0)
        return not("bind");
    hold("socket");
    return got("held");
}

static int hold_lock(const char *path)
{
    int fd = open(path, O_RDONLY);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return not("flock");
    hold("lock");
    return got("held");
}

static int hold_object(int argc, char **argv)
{
    const char *kind = argv[0], *name = argv[1];

    (void)argc;
    umask(0);
    if (!strcmp(kind, "shm"))
        return hold_sysv(shmget((key_t)number(name), 4096, IPC_CREAT | IPC_EXCL | 0666),
                         remove_shm);
    if (!strcmp(kind, "sem"))
        return hold_sysv(semget((key_t)number(name), 1, IPC_CREAT | IPC_EXCL | 0666), remove_sem);
    if (!strcmp(kind, "msg"))
        return hold_sysv(msgget((key_t)number(name), IPC_CREAT | IPC_EXCL | 0666), remove_msg);
    if (!strcmp(kind, "queue"))
        return hold_queue(name);
    if (!strcmp(kind, "abstract"))
        return hold_abstract(name);
    if (!strcmp(kind, "lock"))
        return hold_lock(name);
    return hold_file(name);
}

static int find_object(int argc, char **argv)
{
    const char *kind = argv[0], *name = argv[1];

    (void)argc;
    if (!strcmp(kind, "shm"))
        return outcome(shmget((key_t)number(name), 0, 0), "shmget");
    if (!strcmp(kind, "sem"))
        return outcome(semget((key_t)number(name), 0, 0), "semget");
    if (!strcmp(kind, "msg"))
        return outcome(msgget((key_t)number(name), 0), "msgget");
    if (!strcmp(kind, "queue"))
        return outcome(mq_open(name, O_RDONLY), "mq_open");
    if (!strcmp(kind, "abstract")) {
        struct sockaddr_un there;
        socklen_t len = abstract_name(&there, name);

        return outcome(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&there, len),
                       "connect");
    }
    if (!strcmp(kind, "lock")) {
        /* What is found here is that somebody else holds it. */
        if (flock(open(name, O_RDONLY), LOCK_EX | LOCK_NB) < 0)
            return errno == EWOULDBLOCK ? got("somebody holds the lock") : not("flock");
        return not_because("EMPTY nobody holds the lock");
    }
    return outcome(open(name, O_RDONLY), "open");
}

const struct attack ipc_attacks[] = {
    { "hold", hold_object, 2 },
    { "find", find_object, 2 },
    { NULL, NULL, 0 },
};
