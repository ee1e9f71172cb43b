/* Paths of a language's tools on the host, or inside an image. */
#ifndef PLAN_TOOLS_H
#define PLAN_TOOLS_H

#define TOOLCHAIN_PATH 1024
#define TOOLCHAIN_VERSION 32

struct toolchain {
    char binary[TOOLCHAIN_PATH]; /* on the host; links are resolved unless it is below /usr */
    /* What must be mounted: a directory or only the binary; empty below /usr. */
    char tree[TOOLCHAIN_PATH];
    /* The parent of the binary's "bin" directory, on the host; empty when there is none. */
    char home[TOOLCHAIN_PATH];
    char image[TOOLCHAIN_PATH];      /* by which image it is this one; empty: it is the host's */
    char version[TOOLCHAIN_VERSION]; /* as the tool reports it; empty: not asked yet */
    /* The version in its path, which may be less: "3" of python3; empty: none. */
    char hint[TOOLCHAIN_VERSION];
};

#endif
