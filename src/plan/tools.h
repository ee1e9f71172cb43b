/* Where the tools of a language are, outside and inside. */
#ifndef PLAN_TOOLS_H
#define PLAN_TOOLS_H

#define TOOLCHAIN_PATH 1024
#define TOOLCHAIN_VERSION 32

struct toolchain {
    char binary[TOOLCHAIN_PATH]; /* on the host, links resolved unless it is below /usr */
    char tree
        [TOOLCHAIN_PATH]; /* what has to be mounted: a directory or the binary alone; empty below /usr */
    char home
        [TOOLCHAIN_PATH]; /* the directory above the binary's "bin", on the host; empty when there is none */
    char version[TOOLCHAIN_VERSION]; /* what the tool says; empty: not asked yet */
    char hint
        [TOOLCHAIN_VERSION]; /* what its path says, maybe less: "3" of python3; empty: nothing */
};

#endif
