#!/bin/sh
# rust-setup.sh RUSTC DIRECTORY: compiles a project's tests, with the crates of $DEPS, to DIRECTORY.
#
# What cannot be compiled is no failure here: the run compiles it again and says why.
rustc=$1
directory=$2
[ -f Cargo.toml ] || exit 0
# shellcheck source-path=SCRIPTDIR source=rust-project.sh
. "${0%/*}/rust-project.sh"
link_results "${DEPS-}" "$directory/target"
CARGO_TARGET_DIR=$directory/target "${rustc%rustc}cargo" test --no-run --offline > /dev/null 2>&1
find "$directory/target" -type l -delete # what the layer of crates has
rm -rf "$directory"/target/debug/incremental "$directory"/target/debug/.cargo-lock
exit 0
