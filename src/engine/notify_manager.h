/* Reports the state of a service to systemd (sd_notify(3), Type=notify). */
#ifndef ENGINE_NOTIFY_MANAGER_H
#define ENGINE_NOTIFY_MANAGER_H

/* For example "READY=1"; does nothing without a listener. */
void notify_manager(const char *state);

#endif
