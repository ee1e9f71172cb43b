#!/bin/sh
# go-install.sh GO DIRECTORY [MODULE[@VERSION]]...: modules of go.mod in the current directory and
# of the words.
#
# DIRECTORY/mod is the module cache, DIRECTORY/cache has what compiling their packages added to the
# cache in $PREPARED, and the program is compiled with DIRECTORY/go.mod and go.sum.
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

# Shows messages only when a command fails, and without those about downloads.
quietly() {
    if ! "$@" > "$scratch/messages" 2>&1; then
        grep -v '^go: \(downloading\|added\|finding\|creating\)' "$scratch/messages" >&2
        exit 1
    fi
}

mkdir -p "$scratch/program" "$directory/cache"
cp -rs "$PREPARED/cache" "$GOCACHE"
cp go.* "$scratch/program" 2> /dev/null || true
cd "${PROJECT:-$scratch/program}" # for tests and builds all of it is there
[ -f go.mod ] || [ -f go.work ] || quietly "$go" mod init program
[ $# -eq 0 ] || quietly "$go" get "$@"
quietly "$go" mod download
[ -z "${PROJECT-}" ] || "$go" list -e -deps -test ./... > /dev/null 2>&1 || true # completes go.mod
# A go.mod that was not tidied is completed when the program's imports are known: then any module of
# the list may be required, and Go reads the go.mod of each that it requires itself.
mkdir "$scratch/whole"
cp go.* "$scratch/whole" 2> /dev/null || true
"$go" list -m -f '{{if not .Main}}-require={{.Path}}@{{.Version}}{{end}}' all 2> /dev/null |
    (cd "$scratch/whole" && xargs -r "$go" mod edit && "$go" mod graph) > /dev/null 2>&1 || true

# The program's sources are not here, so its imports are unknown: compiles the packages of the
# modules that are named, as far as possible and for a limited time.  The others are compiled with
# the program.
{
    for word; do
        echo "${word%@*}"
    done
    [ "${PROJECT-}" ] || "$go" list -m -f '{{if not (or .Main .Indirect)}}{{.Path}}{{end}}' all
} | sort -u | while read -r module; do
    "$go" list -e -f '{{if not (or .Error .DepsErrors (eq .Name "main"))}}{{.ImportPath}}{{end}}' "$module/..."
done 2> /dev/null | sort -u | grep -v /internal/ > "$scratch/packages" || true
# Of a project, whatever it imports.
[ -z "${PROJECT-}" ] || "$go" list -e -deps -test -f '{{if not .Standard}}{{with .Module}}{{if not .Main}}{{$.ImportPath}}{{end}}{{end}}{{end}}' \
    ./... 2> /dev/null | sed 's/ .*//' | sort -u >> "$scratch/packages" || true
timeout 120 xargs -r "$go" build < "$scratch/packages" > /dev/null 2>&1 || true

[ ! -f go.mod ] || cp go.mod "$directory"
[ ! -f go.sum ] || cp go.sum "$directory"
# The sources are unpacked; the archives are not read again.
rm -rf "$GOMODCACHE/cache/vcs" "$GOMODCACHE/cache/download/sumdb"
[ ! -d "$GOMODCACHE/cache/download" ] || find "$GOMODCACHE/cache/download" \( -name '*.zip' -o -name list \) -exec rm -f {} +
cd "$GOCACHE"
find . -type f -path './??/*' | while read -r file; do
    mkdir -p "$directory/cache/${file%/*}"
    cp "$file" "$directory/cache/$file"
done
# An entry ends with the time when it was made, in 20 places; the same modules make the same files.
find "$directory/cache" -name '*-a' -exec sed -i 's/ *[0-9]*$/                    1/' {} +
