/* The words of a tool that a package of Node brings. */
#ifndef WORK_NODE_TOOL_H
#define WORK_NODE_TOOL_H

/* npx would ask the registry for a missing one, also with --no-install, and wait for a network
 * that a sandbox has not: more than a minute. */
#define NODE_TOOL(command, package)                                                                \
    "sh", "-c",                                                                                    \
        "PATH=$PWD/node_modules/.bin:$PATH; command -v " command " > /dev/null || "                \
        "{ echo '" command " is not installed; add " package " to devDependencies of "             \
        "package.json, or give --dep " package "' >&2; exit 127; }; exec " command " \"$@\"",      \
        command

#endif
