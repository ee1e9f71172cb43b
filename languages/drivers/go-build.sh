#!/bin/sh
# go-build.sh build GO MAIN OUTPUT FILE... -- ARGUMENT...
# go-build.sh check GO MAIN FILE... -- ARGUMENT...
#
# The go command takes as long as compiler and linker together, so a program that is one package and
# needs nothing but the standard library goes straight to those two.  Everything else (modules, tests, embedded files,
# constraints, arguments of the user's own) is left to the go command, with caches that are ready.
# $PREPARED is what go-prepare.sh made, $DEPS what go-install.sh made, if anything.
# shellcheck source-path=SCRIPTDIR source=go-env.sh
. "${0%/*}/go-env.sh"
mode=$1
go=$2
main=$3
shift 3
directory=${main%/*}
scratch=${TMPDIR:-/tmp}
output=$scratch/program
if [ "$mode" = build ]; then
    output=$1
    shift
fi

# Names with _ may be constraints, as in file_windows.go; a go.mod sets the version of the language.
is_simple() {
    [ -z "$DEPS" ] && [ ! -e go.mod ] && [ ! -e "$directory/go.mod" ] || return 1
    while [ "$1" != -- ]; do
        case ${1#"$directory/"} in
        *_test.go) ;;
        */* | *_* | .*) return 1 ;;
        esac
        shift
    done
    [ $# -eq 1 ] && [ "${main%_test.go}" = "$main" ]
}

# Ends the script, or returns when the go command has to do it after all.
build_directly() {
    for file; do
        shift
        case $file in
        -- | *_test.go) ;;
        *) set -- "$@" "$file" ;;
        esac
    done
    if grep -Eq '^//go:(build|embed|debug)|^// \+build|^[[:space:]]*(import[[:space:]]*)?"C"' "$@"; then
        return
    fi
    for tools in "${go%/bin/go}"/pkg/tool/*; do :; done
    "$tools/compile" -p main -complete -dwarf=false -I "$PREPARED/std" -o "$scratch/main.a" "$@" || exit 1
    is_program || return
    [ "$mode" = check ] || "$tools/link" -s -w -L "$PREPARED/std" -o "$output" "$scratch/main.a" || exit 1
    exit 0
}

is_program() {
    grep -Eq '^package[[:space:]]+main([^[:alnum:]_]|$)' "$main"
}

# Caches cannot be searched one after the other: with dependencies, one of links to both.
set_up() {
    GOCACHE=$PREPARED/cache
    if [ -n "$DEPS" ]; then
        GOCACHE=$scratch/cache
        cp -rs "$PREPARED/cache" "$GOCACHE"
        cp -rs "$DEPS/cache/." "$GOCACHE"
        cp "$DEPS"/go.* .
        GOMODCACHE=$DEPS/mod
        export GOMODCACHE
    elif [ ! -e go.mod ] && [ ! -e "$directory/go.mod" ]; then
        (cd "$directory" && "$go" mod init program) 2> "$scratch/messages" || cat "$scratch/messages" >&2
    fi
    export GOCACHE
}

# The test binary has to be started with arguments, in the directory of its package.
build_test() {
    for file in ./*_test.go; do :; done
    if [ ! -e "$file" ]; then
        echo "$main: error: this is not package main, and there are no tests beside it" >&2
        exit 1
    fi
    "$go" test -c -vet=off -ldflags "-s -w" -o "$output.test" "$@" . || exit 1
    cat > "$output" << END
#!/bin/sh
program=\$(realpath "\$0").test
cd ".${directory#"$work"}" && exec "\$program" -test.v -test.paniconexit0 "\$@"
END
    chmod +x "$output"
}

if is_simple "$@"; then
    build_directly "$@"
fi
while [ "$1" != -- ]; do
    shift
done
shift
work=$PWD
set_up
cd "$directory" || exit 1
if [ "${main%_test.go}" = "$main" ] && is_program; then
    exec "$go" build -ldflags "-s -w" -o "$output" "$@" .
fi
build_test "$@"
