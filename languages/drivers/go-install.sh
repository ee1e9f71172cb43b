#!/bin/sh
# go-install.sh GO DIRECTORY [MODULE[@VERSION]]...: modules, from go.mod in the current directory and from the words.
#
# DIRECTORY/mod is the cache of modules, DIRECTORY/cache holds what compiling their packages added to the cache in
# $PREPARED, DIRECTORY/go.mod and go.sum are what the program is compiled with.
set -e
# shellcheck source-path=SCRIPTDIR source=go-env.sh
. "${0%/*}/go-env.sh"
go=$1
directory=$2
shift 2
scratch=${TMPDIR:-/tmp}/install
GOMODCACHE=$directory/mod
GOCACHE=$scratch/cache
GOFLAGS="$GOFLAGS -mod=mod -modcacherw"
export GOMODCACHE GOCACHE GOFLAGS

# What is downloaded is no news: messages are shown only when something fails.
quietly() {
    if ! "$@" > "$scratch/messages" 2>&1; then
        grep -v '^go: \(downloading\|added\|finding\|creating\)' "$scratch/messages" >&2
        exit 1
    fi
}

mkdir -p "$scratch/program" "$directory/cache"
cp -rs "$PREPARED/cache" "$GOCACHE"
cp go.* "$scratch/program" 2> /dev/null || true
cd "$scratch/program"
[ -f go.mod ] || quietly "$go" mod init program
[ $# -eq 0 ] || quietly "$go" get "$@"
quietly "$go" mod download

# The program's sources are not here, so nobody knows which packages it imports: those of the modules that are asked
# for by name are compiled, as far as they can be and for some time.  The others are compiled with the program.
{
    for word; do
        echo "${word%@*}"
    done
    "$go" list -m -f '{{if not (or .Main .Indirect)}}{{.Path}}{{end}}' all
} | sort -u | while read -r module; do
    "$go" list -e -f '{{if not (or .Error .DepsErrors (eq .Name "main"))}}{{.ImportPath}}{{end}}' "$module/..."
done 2> /dev/null | sort -u | grep -v /internal/ > "$scratch/packages" || true
timeout 120 xargs -r "$go" build < "$scratch/packages" > /dev/null 2>&1 || true

cp go.mod "$directory"
[ ! -f go.sum ] || cp go.sum "$directory"
# The sources are unpacked; what they came in is not read again.
rm -rf "$GOMODCACHE/cache/vcs" "$GOMODCACHE/cache/download/sumdb"
find "$GOMODCACHE/cache/download" -name '*.zip' -exec rm -f {} +
cd "$GOCACHE"
find . -type f -path './??/*' | while read -r file; do
    mkdir -p "$directory/cache/${file%/*}"
    cp "$file" "$directory/cache/$file"
done
