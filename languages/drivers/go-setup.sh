#!/bin/sh
# go-setup.sh GO DIRECTORY: compiles a project's tests, with the modules of $DEPS and the library of
# $PREPARED; DIRECTORY/cache has what that added.
#
# What cannot be compiled is no failure here: the run compiles it again and says why.
PATH=${1%/*}:$PATH
directory=$2
drivers=${0%/*}
GOCACHE=${TMPDIR:-/tmp}/go-cache
export GOCACHE
mkdir -p "$GOCACHE" "$directory/cache"
[ -z "${PREPARED-}" ] || cp -rs "$PREPARED/cache/." "$GOCACHE"
[ -z "${DEPS-}" ] || cp -rs "$DEPS/cache/." "$GOCACHE"
sh "$drivers/go-command.sh" go test -exec=/bin/true ./... > /dev/null 2>&1 # linked, and not run
cd "$GOCACHE" || exit
find . -type f -path './??/*' | while read -r file; do
    mkdir -p "$directory/cache/${file%/*}"
    cp "$file" "$directory/cache/$file"
done
exit 0
