#!/bin/sh
# rust-build.sh build RUSTC MAIN OUTPUT ARGUMENT...
# rust-build.sh check RUSTC MAIN ARGUMENT...
#
# cargo builds a Cargo project, rustc alone everything else.  $PREPARED is the result of
# rust-prepare.sh, $DEPS that of rust-install.sh, if any.  $PROJECT is a directory with more than
# the program: there a program that the package does not know becomes one of its programs, with the
# package's library.  $PROFILE is the directory of rust-profile.sh, for a profiled run.
set -e
mode=$1
rustc=$2
main=$3
shift 3
scratch=${TMPDIR:-/tmp}
if [ "$mode" = build ]; then
    output=$1
    shift
fi

# Links the standard library as a shared one: linking it statically takes a quarter of the time for
# a small program.  The program gets its path, because LD_LIBRARY_PATH is not set; next to the C
# library it needs none.  Where $PREPARED/link exists, the linker is called without the C compiler.
# Some arguments exclude the one or the other.
link_arguments() {
    case "$*" in
    *panic* | *lto* | *crt-static* | *--target* | *--crate-type*) return ;;
    esac
    rpath=-Clink-arg=-Wl,-rpath,
    case "$*" in
    *link* | *sanitizer* | *instrument* | *profile*) ;;
    *)
        if [ -z "$DEPS" ] && [ -e "$PREPARED/link" ]; then
            rpath=-Clink-arg=-rpath=
            echo "@$PREPARED/link"
        fi
        ;;
    esac
    for library in "${rustc%/bin/rustc}"/lib/rustlib/*-linux-*/lib/libstd-*.so; do
        [ ! -e "$library" ] || echo "-Cprefer-dynamic $rpath${library%/*}"
    done
}

by_rustc() {
    [ -z "$DEPS" ] || sed "s,@DEPS@,$DEPS,g" "$DEPS/externs" > "$scratch/externs"
    # shellcheck disable=SC2046 # words, each without a blank
    set -- --crate-name main -Cdebuginfo=0 $(link_arguments "$@") "$@"
    case " $* " in
    *" --edition"*) ;;
    *) set -- --edition 2021 "$@" ;;
    esac
    [ -z "$DEPS" ] || set -- "$@" "@$scratch/externs"
    if [ -n "$PROFILE" ]; then
        set -- "$@" -Clink-arg="$PROFILE/sampler.o" -Clink-arg=-lgcc_s -Cdebuginfo=1
    fi
    if [ "$mode" = check ]; then
        exec "$rustc" --emit=metadata -o "$scratch/main.rmeta" "$@" "$main"
    fi
    exec "$rustc" -o "$output" "$@" "$main"
}

# cargo writes into its home and its target directory: makes new ones of links to the existing
# files.
by_cargo() {
    command=build
    if [ -n "$PROFILE" ]; then
        RUSTC_WORKSPACE_WRAPPER=$PROFILE/rust-profile.sh
        export RUSTC_WORKSPACE_WRAPPER PROFILE
    fi
    if [ -n "$DEPS" ]; then
        cp -rs "$DEPS/target" "$scratch/target"
        sed "s,@DEPS@,$DEPS,g" "$DEPS/config.toml" > "$scratch/cargo/config.toml"
        cp "$DEPS/Cargo.toml" "$DEPS/Cargo.lock" .
    elif [ "$mode" = check ]; then
        command=check
    fi
    if [ -n "$PROJECT" ] && is_stranger; then
        printf '\n[[bin]]\nname = "sandbox_run_program"\npath = "%s"\n' "$main" >> Cargo.toml
        set -- --bin sandbox_run_program "$@"
    fi
    [ "$(package)" = . ] || set -- --manifest-path "$(package)/Cargo.toml" "$@"
    "${rustc%rustc}cargo" $command -q --offline --target-dir "$scratch/target" \
        --message-format=json-render-diagnostics "$@" > "$scratch/messages" || exit 1
    [ "$mode" = build ] || exit 0
    cp "$(program)" "$output"
}

# The directory of the package that has the program: a workspace has several.
package() {
    place=${main#"$PWD/"}
    while case $place in */*) true ;; *) false ;; esac; do
        place=${place%/*}
        if [ -f "$place/Cargo.toml" ]; then
            echo "$place"
            return
        fi
    done
    echo .
}

# True when cargo does not find the program: it looks in src and where its manifest says.  A
# manifest without a package has no programs.
is_stranger() {
    [ "$(package)" = . ] || return 1
    case ${main#"$PROJECT/"} in
    src/main.rs | src/bin/* | examples/* | tests/* | benches/*) return 1 ;;
    esac
    grep -q '^\[package\]' Cargo.toml && ! grep -Fq "\"${main#"$PROJECT/"}\"" Cargo.toml
}

# Of the programs that cargo made: that of the main file, else the last.
program() {
    grep '"executable":"' "$scratch/messages" > "$scratch/programs" || {
        echo "$main: error: the package has no program: src/main.rs is missing" >&2
        exit 1
    }
    { grep -F "\"src_path\":\"$main\"" "$scratch/programs" || cat "$scratch/programs"; } |
        sed -n '$s/.*"executable":"\([^"]*\)".*/\1/p'
}

if [ -f Cargo.toml ]; then
    # shellcheck source-path=SCRIPTDIR source=rust-env.sh
    . "${0%/*}/rust-env.sh"
    CARGO_HOME=$scratch/cargo
    export CARGO_HOME
    mkdir -p "$CARGO_HOME"
    by_cargo "$@"
else
    by_rustc "$@"
fi
