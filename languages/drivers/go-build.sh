#!/bin/sh
# go-build.sh build GO MAIN OUTPUT FILE... -- ARGUMENT...
# go-build.sh check GO MAIN FILE... -- ARGUMENT...
#
# The go command takes as long as compiler and linker together, so a program of one package that
# needs only the standard library uses these two directly.  For everything else (modules, tests,
# embedded files, constraints, arguments of the user) it runs the go command, with warm caches.
# $PREPARED is the result of go-prepare.sh, $DEPS that of go-install.sh, if any.  $PROJECT is a
# directory with more files than are listed here: the program's package is then all of its
# directory.  $PROFILE is the directory of go-profile.go, which is part of a program that is profiled:
# it calls functions of the runtime that newer linkers refuse by default.
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

link_flags="-s -w"
[ -z "$PROFILE" ] || link_flags="-s -w -checklinkname=0"

# Names with _ may be constraints, as in file_windows.go; a go.mod sets the version of the language.
is_simple() {
    [ -z "$DEPS" ] && [ ! -e go.mod ] && [ ! -e "$directory/go.mod" ] && is_alone || return 1
    while [ "$1" != -- ]; do
        case ${1#"$directory/"} in
        *_test.go) ;;
        */* | *_* | .*) return 1 ;;
        esac
        shift
    done
    [ $# -eq 1 ] && [ "${main%_test.go}" = "$main" ]
}

is_alone() {
    [ -z "$PROJECT" ] && return
    for file in "$directory"/*.go; do
        [ "$file" = "$main" ] || return 1
    done
}

# Ends the script, or returns when the go command must build the program.
build_directly() {
    for file; do
        shift
        case $file in
        -- | *_test.go) ;;
        *) set -- "$@" "$file" ;;
        esac
    done
    [ -z "$PROFILE" ] || set -- "$@" "$PROFILE/go-profile.go"
    if grep -Eq '^//go:(build|embed|debug)|^// \+build|^[[:space:]]*(import[[:space:]]*)?"C"' "$@"; then
        return
    fi
    # Debian's /usr/bin/go is a link into the directory that has the tools.
    root=$go
    [ ! -L "$go" ] || root=$(readlink -f "$go")
    for tools in "${root%/bin/go}"/pkg/tool/*; do :; done
    complete=-complete
    [ -z "$PROFILE" ] || complete=
    # shellcheck disable=SC2086 # words
    "$tools/compile" -p main $complete -dwarf=false -I "$PREPARED/std" -o "$scratch/main.a" "$@" || exit 1
    is_program || return
    # shellcheck disable=SC2086 # words
    [ "$mode" = check ] || "$tools/link" $link_flags -L "$PREPARED/std" -o "$output" "$scratch/main.a" || exit 1
    exit 0
}

is_program() {
    grep -Eq '^package[[:space:]]+main([^[:alnum:]_]|$)' "$main"
}

# In the directory, in the root, or between them.
has_module() {
    [ -e go.mod ] || [ -e "$1/go.mod" ] ||
        { [ -n "$PROJECT" ] && [ "$1" != "$PROJECT" ] && has_module "${1%/*}"; }
}

# Go searches only one cache: with dependencies, a directory of links to both.
set_up() {
    GOCACHE=${PREPARED:-$scratch}/cache
    if [ -n "$DEPS" ]; then
        GOCACHE=$scratch/cache
        if [ -n "$PREPARED" ]; then
            cp -rs "$PREPARED/cache" "$GOCACHE"
        fi
        mkdir -p "$GOCACHE"
        cp -rs "$DEPS/cache/." "$GOCACHE"
        cp "$DEPS"/go.* .
        # What the program imports is known here and not to the installer, which has compared every
        # module with its sum: go.mod and go.sum are completed from the cache.
        GOMODCACHE=$DEPS/mod
        GOSUMDB=off
        GOFLAGS="$GOFLAGS -mod=mod"
        export GOMODCACHE GOSUMDB GOFLAGS
    elif ! has_module "$directory"; then
        (cd "${PROJECT:-$directory}" && "$go" mod init program) 2> "$scratch/messages" || cat "$scratch/messages" >&2
    fi
    export GOCACHE
    # Go would index directories whose files are older into the cache, which is read-only.
    GODEBUG=goindex=0${GODEBUG:+,$GODEBUG}
    export GODEBUG
}

# The test binary must be started with arguments, in the directory of its package.
build_test() {
    if [ -n "$PROFILE" ]; then
        echo "$main: error: tests have no profile of functions here; use go test -cpuprofile" >&2
        exit 1
    fi
    for file in ./*_test.go; do :; done
    if [ ! -e "$file" ]; then
        echo "$main: error: this is not package main, and there are no tests beside it" >&2
        exit 1
    fi
    "$go" test -c -vet=off -ldflags "$link_flags" -o "$output.test" "$@" . || exit 1
    cat > "$output" << END
#!/bin/sh
program=\$(realpath "\$0").test
cd ".${directory#"$work"}" && exec "\$program" -test.v -test.paniconexit0 "\$@"
END
    chmod +x "$output"
}

# True when the program was put into a package of another name: in a directory of its own it can
# import that package.
has_other_package() {
    for file in "$directory"/*.go; do
        case $file in
        "$main" | *_test.go) ;;
        *) sed -n 's/^package[[:space:]]\{1,\}//p' "$file" | grep -Evq '^main([^[:alnum:]_]|$)' && return ;;
        esac
    done
    return 1
}

# Programs of one file each may share a directory: then it builds the main file, not the package.
build_in_project() {
    if "$go" build -ldflags "$link_flags" -o "$output" "$@" . 2> "$scratch/messages"; then
        exit 0
    fi
    if grep -q 'main redeclared' "$scratch/messages"; then
        exec "$go" build -ldflags "$link_flags" -o "$output" "$@" "${main##*/}" ${PROFILE:+sandbox_run_profile.go sandbox_run_profile.s}
    fi
    cat "$scratch/messages" >&2
    exit 1
}

if [ -n "$PREPARED" ] && is_simple "$@"; then
    build_directly "$@"
fi
while [ "$1" != -- ]; do
    shift
done
shift
work=$PWD
set_up
if [ -n "$PROJECT" ] && is_program && has_other_package; then
    mkdir "$directory/sandbox_run_program"
    mv "$main" "$directory/sandbox_run_program/"
    directory=$directory/sandbox_run_program
    main=$directory/${main##*/}
fi
cd "$directory" || exit 1
# An empty file of assembler permits functions without a body.
if [ -n "$PROFILE" ] && is_program; then
    cp "$PROFILE/go-profile.go" sandbox_run_profile.go
    : > sandbox_run_profile.s
fi
if [ "${main%_test.go}" != "$main" ] || ! is_program; then
    build_test "$@"
elif [ -z "$PROJECT" ]; then
    exec "$go" build -ldflags "$link_flags" -o "$output" "$@" .
else
    build_in_project "$@"
fi
