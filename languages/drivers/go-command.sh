#!/bin/sh
# go-command.sh COMMAND...: with the modules of $DEPS and the compiled library of $PREPARED, if any.
#
# The caller's own GOFLAGS, CGO_ENABLED and GOCACHE count.
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
fi
if [ -n "${DEPS-}" ]; then
    GOMODCACHE=$DEPS/mod
    export GOMODCACHE
    [ -d vendor ] || GOFLAGS="$GOFLAGS -mod=mod"
fi
GOFLAGS=${flags:-$GOFLAGS}
unset DEPS PREPARED
exec "$@"
