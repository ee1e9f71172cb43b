#!/bin/sh
# go-prepare.sh GO DIRECTORY: the compiled standard library.
#
# DIRECTORY/cache is a build cache for the go command; DIRECTORY/std/PATH.a links to the archive of
# each package in it, for direct calls of compiler and linker.  An older Go has archives of its own
# below GOROOT, which both find: only those that had to be made again are linked.
# The cache also holds what `go vet` knows of each package, because `go test` asks it before each
# test: without it a test that imports only testing waits two seconds.
set -e
# shellcheck source-path=SCRIPTDIR source=go-env.sh
. "${0%/*}/go-env.sh"
go=$1
directory=$2
GOCACHE=$directory/cache
export GOCACHE

mkdir -p "$directory/std"
cd "$directory/std"
"$go" build std
"$go" list -export -f '{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}' std |
    sed -n "s,^\([^ ]*\) $directory/,\1 ,p" > "$directory/list"
sed -n 's,^\([^ ]*\)/[^/ ]* .*,\1,p' "$directory/list" | sort -u | xargs -r mkdir -p
# A line "net/http cache/ab/cd" becomes "ln -s ../../cache/ab/cd net/http.a".
while read -r path archive; do
    up=..
    rest=$path
    while [ "${rest#*/}" != "$rest" ]; do
        up=$up/..
        rest=${rest#*/}
    done
    ln -s "$up/$archive" "$path.a"
done < "$directory/list"

# No test runs; a Go that refuses one of the packages leaves the cache as it is.
facts=$(mktemp -d)
cd "$facts"
echo 'module facts' > go.mod
{
    printf 'package facts\n\nimport (\n\t"testing"\n'
    "$go" list std | grep -Ev '(^|/)(internal|vendor)(/|$)|^(testing|unsafe|runtime/(cgo|race))$' | sed 's/.*/\t_ "&"/'
    printf ')\n\nfunc TestNothing(*testing.T) {}\n'
} > facts_test.go
"$go" test -run '^$' -ldflags '-s -w' . > /dev/null 2>&1 || :
cd "$directory"
rm -rf "$facts"
rm -f "$directory/list" "$GOCACHE/README" "$GOCACHE"/*.txt
