#!/bin/sh
# go-command.sh COMMAND...: with the modules of $DEPS and the compiled library of $PREPARED, if any.
#
# The caller's own GOFLAGS, CGO_ENABLED and GOCACHE count.  The installer has compared the modules with
# go.sum and the database of sums, which cannot be reached from here.
flags=${GOFLAGS-}
cgo=${CGO_ENABLED-}
# shellcheck source-path=SCRIPTDIR source=go-env.sh
. "${0%/*}/go-env.sh"
unset GOGC # it is for compilers; tests may measure memory
GOPROXY=off
export GOPROXY
if [ -n "$cgo" ]; then
    CGO_ENABLED=$cgo
elif grep -rqsE --include='*.go' '^[[:space:]]*(import[[:space:]]*)?"C"' .; then
    unset CGO_ENABLED
fi

# Go searches only one cache, and writes to it: a directory of links to both.
if [ -z "${GOCACHE-}" ]; then
    GOCACHE=${TMPDIR:-/tmp}/go-cache
    mkdir -p "$GOCACHE"
    export GOCACHE
    [ -z "${PREPARED-}" ] || cp -rs "$PREPARED/cache/." "$GOCACHE"
    [ -z "${DEPS-}" ] || cp -rs "$DEPS/cache/." "$GOCACHE"
    [ -z "${BUILD-}" ] || cp -rsf "$BUILD/cache/." "$GOCACHE" # the project's own tests, compiled
fi
# The project's go.mod may lack what --dep named, and go.sum may be missing: what the installer has
# completed stands for both, beside the project, so that a build leaves no change of them.
use_installed_mod() {
    if [ ! -e go.mod ]; then
        cp "$DEPS"/go.* .
        return
    fi
    case "$*" in
    *"go mod "* | *"go get "* | *"go work "*) return ;; # which are about the project's own
    esac
    [ ! -e go.work ] || return 0 # Go refuses the two together
    mkdir -p "${TMPDIR:-/tmp}/go-installed"
    cp "$DEPS"/go.* "${TMPDIR:-/tmp}/go-installed"
    GOFLAGS="$GOFLAGS -modfile=${TMPDIR:-/tmp}/go-installed/go.mod"
}

if [ -d "${DEPS:-/none}/mod" ]; then # a project without requirements has none
    GOMODCACHE=$DEPS/mod
    GOSUMDB=off
    export GOMODCACHE GOSUMDB
    if [ ! -d vendor ]; then
        GOFLAGS="$GOFLAGS -mod=mod"
        use_installed_mod "$@"
    fi
fi
GOFLAGS=${flags:-$GOFLAGS}
unset DEPS PREPARED BUILD
exec "$@"
