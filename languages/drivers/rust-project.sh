#!/bin/sh
# Cargo's settings for a project with the crates of $DEPS; $rustc is the compiler.
PROJECT=$PWD
# shellcheck source-path=SCRIPTDIR source=rust-env.sh
. "${0%/*}/rust-env.sh"
unset PROJECT
CARGO_HOME=${TMPDIR:-/tmp}/cargo
CARGO_NET_OFFLINE=true
export CARGO_HOME CARGO_NET_OFFLINE
mkdir -p "$CARGO_HOME"
if [ -f "${DEPS-}/config.toml" ]; then
    sed "s,@DEPS@,$DEPS,g" "$DEPS/config.toml" > "$CARGO_HOME/config.toml"
    [ -e Cargo.lock ] || cp "$DEPS/Cargo.lock" .
fi

# link_results LAYER TARGET: the compiled crates of a layer, as links; cargo compares the times of
# its own notes, which are copied.
link_results() {
    [ -d "${1:-/nonexistent}/target" ] || return 0
    mkdir -p "$2"
    cp -rsf "$1/target/." "$2"
    find "$1/target" -type d -name .fingerprint | while read -r notes; do
        rm -rf "${2:?}/${notes#"$1/target/"}.new"
        cp -r "$notes/." "$2/${notes#"$1/target/"}.new"
        cp -r --remove-destination "$2/${notes#"$1/target/"}.new/." "$2/${notes#"$1/target/"}"
        rm -rf "${2:?}/${notes#"$1/target/"}.new"
    done
}
