/* Init as the first process of a container that another program made (wire/guest_msg.h). */
#ifndef INIT_GUEST_H
#define INIT_GUEST_H

/* Connects to the socket at `path` and makes init.  Returns in init, with its file descriptors in
 * their places and its ids mapped; the guest itself waits for init's end and exits. */
void guest_enter(const char *path);

#endif
