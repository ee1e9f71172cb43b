#!/bin/sh
# rust-install.sh RUSTC DIRECTORY [CRATE[FEATURE,...][@VERSION]]...
#
# For a single file: DIRECTORY/lib has the compiled crates of the words, and DIRECTORY/externs the
# arguments for rustc.  For a Cargo project: sources in vendor, compiled crates in target, and the
# files that cargo needs.  The manifests of a workspace's members lie in their directories.
set -e
rustc=$1
directory=$2
shift 2
cargo=${rustc%rustc}cargo
scratch=${TMPDIR:-/tmp}/install
manifests=$PWD
# shellcheck source-path=SCRIPTDIR source=rust-env.sh
. "${0%/*}/rust-env.sh"
[ -z "${PROJECT-}" ] || manifests=$PROJECT # tests and builds: all of it is there
CARGO_HOME=$scratch/cargo
export CARGO_HOME

# An image may bring crates that its compiler can build, with their versions.
own_lock=/usr/lib/sandbox-run/packages/rust/Cargo.lock
newest='' # a crate that was asked for without a version

# Cargo takes the newest crates, which tools of an older image may not be able to build or to read.
explain() {
    crate=$(sed -n 's/.*package `\([^ ]*\) v.* requires rustc .*/\1/p' "$scratch/messages" | head -n 1)
    if [ -z "$crate" ] && grep -q 'failed to select a version\|failed to parse manifest' "$scratch/messages"; then
        crate=$newest
    fi
    [ -z "$crate" ] || echo "These tools are too old for the newest $crate: add a version for them, as in --dep $crate@VERSION." >&2
}

quietly() {
    if ! "$@" > "$scratch/messages" 2>&1; then
        grep -v '^ *\(Updating\|Downloading\|Downloaded\|Compiling\|Locking\|Adding\|Running\|Fresh\) ' "$scratch/messages" >&2
        explain
        exit 1
    fi
}

# Build scripts of crates run after everything is fetched, without a network.
close_network() {
    case $(getent ahostsv4 close.sandbox-run.internal) in
    127.0.0.1*) ;;
    *)
        echo 'the network could not be given back, so no crate was built' >&2
        exit 1
        ;;
    esac
}

# The version of a crate that the lock has.
locked() {
    [ ! -f Cargo.lock ] || awk -v name="name = \"$1\"" '
        $0 == name { found = 1 }
        found && sub(/^version = "/, "") { sub(/".*/, ""); print; exit }' Cargo.lock
}

# A version of three numbers is exact; a shorter one means what it means to cargo.
add() {
    name=$(echo "$1" | sed 's/\[.*\]//; s/@.*//')
    version=$(echo "$1" | sed -n 's/\[.*\]//; s/.*@//p')
    features=$(echo "$1" | sed -n 's/.*\[\(.*\)\].*/\1/p')
    case $version in
    [0-9]*.*.*) version="=$version" ;;
    '')
        version=$(locked "$name")
        [ "$version" ] || newest=$name
        ;;
    esac
    quietly "$cargo" add "$name${version:+@$version}" ${features:+--features "$features"}
}

# rustc's command line for the program shows what it needs of its dependencies.
for_one_file() {
    echo 'fn main() {}' > src/main.rs
    printf '[package]\nname = "program"\nversion = "0.0.0"\nedition = "2021"\n' > Cargo.toml
    [ ! -f "$own_lock" ] || cp "$own_lock" Cargo.lock
    for word; do
        add "$word"
    done
    quietly "$cargo" fetch --target "$("$rustc" -vV | sed -n 's/^host: //p')"
    close_network
    quietly "$cargo" build -v --offline --target-dir "$scratch/target"
    mkdir -p "$directory/lib" "$directory/native"
    cp Cargo.lock "$directory" # the versions
    find "$scratch/target/debug/deps" \( -name '*.rlib' -o -name '*.so' \) -exec cp {} "$directory/lib" \;
    grep -- '--crate-name program ' "$scratch/messages" | tr ' ' '\n' | tr -d '`' > "$scratch/words"
    {
        echo "-Ldependency=@DEPS@/lib"
        sed -n "s,^\([A-Za-z0-9_]*\)=$scratch/target/debug/deps/,--extern=\1=@DEPS@/lib/,p" "$scratch/words"
        sed -n "s,^native=$scratch/target/,,p" "$scratch/words" | while read -r place; do
            mkdir -p "$directory/native/$place"
            cp -r "$scratch/target/$place/." "$directory/native/$place"
            echo "-Lnative=@DEPS@/native/$place"
        done
        sed -n 's,^native=/usr/.*,-L&,p' "$scratch/words"
    } > "$directory/externs"
}

# DIRECTORY: empty sources for the package there.
empty_sources() {
    for file in src/lib.rs src/main.rs $(sed -n 's/^ *\(path\|build\) *= *"\(.*\.rs\)".*/\2/p' "$1/Cargo.toml") build.rs; do
        mkdir -p "$(dirname "$1/$file")"
        echo 'fn main() {}' > "$1/$file"
    done
    [ -z "${PROJECT-}" ] || for folder in src tests benches examples; do
        (cd "$PROJECT/$1" && find "$folder" -name '*.rs') 2> /dev/null
    done | while read -r file; do # cargo finds targets by the names of files, too
        mkdir -p "$(dirname "$1/$file")"
        echo 'fn main() {}' > "$1/$file"
    done
}

# The names of all packages of the project.
packages() {
    find . -name Cargo.toml -exec awk '
        /^\[/ { inside = $0 ~ /^\[package\]/ }
        inside && /^name *=/ { gsub(/^name *= *"|".*/, ""); print }' {} \;
}

# Manifests use names of registries that the user's settings define.
registry_names() {
    cat "$CARGO_HOME"/config "$CARGO_HOME"/config.toml 2> /dev/null | awk '
        /^\[/ { inside = $0 ~ /^\[registries\./ }
        inside && (/^\[/ || /^ *index *=/)'
}

# The program's own sources are not here: empty ones replace them, and their results are removed
# again.  A manifest that is a link or lies deeper is in no layer's key.
for_project() {
    (cd "$manifests" && find . -maxdepth 9 \( -name target -o -name node_modules -o -name '.?*' \) -prune -o -type f \( -name Cargo.toml -o -name Cargo.lock \) -print) | while read -r file; do
        mkdir -p "${file%/*}"
        cp "$manifests/$file" "$file"
        case $file in
        */Cargo.toml) ! grep -q '^\[package\]' "$file" || empty_sources "${file%/*}" ;;
        esac
    done
    [ -f Cargo.lock ] || [ ! -f "$own_lock" ] || cp "$own_lock" Cargo.lock
    for word; do
        add "$word"
    done
    "$cargo" vendor "$directory/vendor" > "$CARGO_HOME/vendor.toml" 2> "$scratch/messages" || {
        cat "$scratch/messages" >&2
        exit 1
    }
    mkdir -p "$directory/vendor" # all packages may be the project's own
    registry_names >> "$CARGO_HOME/vendor.toml"
    sed "s,$directory,@DEPS@,g" "$CARGO_HOME/vendor.toml" > "$directory/config.toml"
    # None of these is compiled here, and they are the largest.
    find "$directory"/vendor/win* -name '*.rs' -exec truncate -s 0 {} + 2> /dev/null || true
    find "$directory"/vendor/win* \( -name '*.a' -o -name '*.lib' \) -exec rm -f {} + 2> /dev/null || true
    rm -f "$CARGO_HOME/config" "$CARGO_HOME/config.toml"
    mv "$CARGO_HOME/vendor.toml" "$CARGO_HOME/config.toml"
    close_network
    if [ -n "${PROJECT-}" ]; then # what cannot be compiled is reported by the tests themselves
        "$cargo" build --workspace --tests --offline --target-dir "$directory/target" > /dev/null 2>&1 || true
    else
        quietly "$cargo" build --workspace --offline --target-dir "$directory/target"
    fi
    packages | while read -r name; do
        # Not every manifest belongs to the workspace.
        "$cargo" clean --offline --target-dir "$directory/target" -p "$name" > /dev/null 2>&1 || true
    done
    rm -rf "$directory/target/debug/incremental" "$directory/target/debug/.cargo-lock"
    cp Cargo.toml Cargo.lock "$directory"
}

mkdir -p "$scratch/program/src" "$CARGO_HOME"
for file in config config.toml credentials credentials.toml; do
    [ ! -f "$HOME/.cargo/$file" ] || cp "$HOME/.cargo/$file" "$CARGO_HOME/$file"
done
# A host that is closed to installers is refused at once, so long retries are useless.
if ! cat "$CARGO_HOME"/config* 2> /dev/null | grep -q '^ *\(net\.\)\?retry *='; then
    CARGO_NET_RETRY=${CARGO_NET_RETRY:-2}
    export CARGO_NET_RETRY
fi
cd "$scratch/program"
if [ -f "$manifests/Cargo.toml" ]; then
    for_project "$@"
else
    for_one_file "$@"
fi
