/* A session ends when its directory is removed. */
#ifndef SESSION_DIRECTORY_WATCH_H
#define SESSION_DIRECTORY_WATCH_H

#include "session/supervisor.h"

void directory_watch_start(struct session *s);

#endif
