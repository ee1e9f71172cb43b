/* Options of the gateway, `sandbox-run-http`, which `sandbox-run serve --http` hands on to it.
 * Both programs take their options, their help and completion from these rows.
 *
 *   VALUE(field, name, metavar, help)   SWITCH(field, name, help) */
#ifndef CONFIG_GATEWAY_OPTIONS_H
#define CONFIG_GATEWAY_OPTIONS_H

#define GATEWAY_PROGRAM "sandbox-run-http"
/* Not for people: a descriptor on which the gateway writes one byte when it serves. */
#define GATEWAY_READY_OPTION "ready-fd"
#define GATEWAY_ADDRESS_OPTION "listen" /* of `serve`: --http */

/* clang-format off */
#define GATEWAY_OPTIONS(VALUE, SWITCH)                                                             \
    VALUE(socket, "socket", "PATH", "the gateway's unix socket (default: http.sock beside the "    \
          "engine's)")                                                                             \
    SWITCH(no_socket, "no-socket", "no unix socket of the gateway")                                \
    VALUE(tls_cert, "tls-cert", "FILE", "certificate of TLS, PEM")                                 \
    VALUE(tls_key, "tls-key", "FILE", "its key")                                                   \
    VALUE(allow_host, "allow-host", "NAME", "a further name of this host in the header Host")      \
    VALUE(allow_origin, "allow-origin", "ORIGIN", "pages of this origin may send requests")        \
    VALUE(dialect, "dialect", "LIST", "also the paths of: piston, judge0, go-judge, e2b")          \
    VALUE(callback, "allow-callback", "HOST",                                                      \
          "a dialect may send results to this host, as NAME or NAME:PORT")                         \
    VALUE(max_body, "max-body", "SIZE", "the largest body (default: 16m)")                         \
    VALUE(connections, "connections", "N", "connections at once (default: 2048)")                  \
    VALUE(connections_per_address, "connections-per-address", "N",                                 \
          "connections of TCP from one address (default: half of them)")                           \
    VALUE(running, "running", "N",                                                                 \
          "runs of the gateway at once (default: 1024; the engine has its own bound)")
/* clang-format on */

#endif
