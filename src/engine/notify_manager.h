/* Tells systemd how a service is getting on (sd_notify(3), Type=notify). */
#ifndef ENGINE_NOTIFY_MANAGER_H
#define ENGINE_NOTIFY_MANAGER_H

/* "READY=1"; nothing happens where nobody listens. */
void notify_manager(const char *state);

#endif
