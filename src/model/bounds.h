/* What a caller may be bounded in: a grant's bounds (admit/), under which fields of a request
 * fall. */
#ifndef MODEL_BOUNDS_H
#define MODEL_BOUNDS_H

/* What a grant bounds.  tests/unit/test_doors.c has a row for each door and each of these. */
#define BOUNDS(BOUND)                                                                              \
    BOUND(BOUND_NONE, "")                                                                          \
    BOUND(BOUND_SCOPE, "scope")                                                                    \
    BOUND(BOUND_LIMITS, "limits")                                                                  \
    BOUND(BOUND_CELL_TIME, "cell time")                                                            \
    BOUND(BOUND_NETWORK, "network")                                                                \
    BOUND(BOUND_HOSTS, "hosts")                                                                    \
    BOUND(BOUND_ADDRESSES, "addresses")                                                            \
    BOUND(BOUND_LANGUAGES, "languages")                                                            \
    BOUND(BOUND_PACKAGES, "packages")                                                              \
    BOUND(BOUND_IMAGES, "images")                                                                  \
    BOUND(BOUND_ROOTS, "roots")                                                                    \
    BOUND(BOUND_POLICY, "policy")                                                                  \
    BOUND(BOUND_ISOLATION, "isolation")                                                            \
    BOUND(BOUND_WORKSPACES, "workspaces")                                                          \
    BOUND(BOUND_SESSIONS, "sessions")                                                              \
    BOUND(BOUND_LIFE, "life")                                                                      \
    BOUND(BOUND_RUNS, "runs")                                                                      \
    BOUND(BOUND_RATE, "rate")                                                                      \
    BOUND(BOUND_MEMORY, "memory")                                                                  \
    BOUND(BOUND_DISK, "disk")                                                                      \
    BOUND(BOUND_REVOKED, "revoked")

enum bound {
#define BOUND(name, text) name,
    BOUNDS(BOUND)
#undef BOUND
        N_BOUNDS
};

#endif
