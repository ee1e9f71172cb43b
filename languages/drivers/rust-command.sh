#!/bin/sh
# rust-command.sh COMMAND...: with the crates of $DEPS, if they are those of a Cargo project, and
# with its tests as they were compiled to $BUILD.  $COMPILER is the compiler.
#
# A CARGO_HOME or CARGO_TARGET_DIR of the caller's counts.
if [ -n "${OF_PROJECT-}" ] && [ -f Cargo.toml ] && [ -z "${CARGO_HOME-}" ]; then
    rustc=$COMPILER
    # shellcheck source-path=SCRIPTDIR source=rust-project.sh
    . "${0%/*}/rust-project.sh"
    if [ -z "${CARGO_TARGET_DIR-}" ]; then
        CARGO_TARGET_DIR=${TMPDIR:-/tmp}/target
        export CARGO_TARGET_DIR
        link_results "${DEPS-}" "$CARGO_TARGET_DIR"
        link_results "${BUILD-}" "$CARGO_TARGET_DIR"
    fi
elif [ -f "${DEPS-}/config.toml" ] && [ -z "${CARGO_HOME-}" ]; then
    CARGO_HOME=${TMPDIR:-/tmp}/cargo
    export CARGO_HOME
    mkdir -p "$CARGO_HOME"
    sed "s,@DEPS@,$DEPS,g" "$DEPS/config.toml" > "$CARGO_HOME/config.toml"
fi
unset DEPS BUILD COMPILER OF_PROJECT
exec "$@"
