#!/bin/sh
# rust-command.sh COMMAND...: with the crates of $DEPS, if they are those of a Cargo project.
#
# A CARGO_HOME of the caller's counts.
if [ -f "${DEPS-}/config.toml" ] && [ -z "${CARGO_HOME-}" ]; then
    CARGO_HOME=${TMPDIR:-/tmp}/cargo
    export CARGO_HOME
    mkdir -p "$CARGO_HOME"
    sed "s,@DEPS@,$DEPS,g" "$DEPS/config.toml" > "$CARGO_HOME/config.toml"
fi
unset DEPS
exec "$@"
