#!/bin/sh
# packages.sh copy LANGUAGE PACKAGE...   puts /packages below /out, as an image has them
# packages.sh versions LANGUAGE NAME...  prints the versions of the packages at /deps: NAME VERSION
#
# Runs in a sandbox: `copy` in one of the host, `versions` in one of the image.
set -eu
umask 022
export LC_ALL=C
mode=$1
language=$2
shift 2

copy() {
    cd /out
    mkdir -p usr/lib/sandbox-run/packages
    cp -R --preserve=timestamps,links --no-dereference /packages "usr/lib/sandbox-run/packages/$language"
    # npm notes the address of the registry, which may be a mirror of this machine.
    find . -name .package-lock.json -exec sed -i '/^ *"resolved": "/d' {} +
    printf '%s\n' "$@" >"usr/lib/sandbox-run/packages/$language.list"
    # An image has one user, who may read all of it.
    chmod -R u+w,a+rX .
}

versions_node() {
    # shellcheck disable=SC2016 # an expression of JavaScript
    node -e 'for (const name of process.argv.slice(1))
        console.log(name, require(`/deps/node_modules/${name}/package.json`).version)' -- "$@"
}

versions() {
    case $language in
    go) sed -n 's/^\(require\)\{0,1\}[[:space:]]*\([^ ]*\) \(v[0-9][^ ]*\).*/\2 \3/p' /deps/go.mod ;;
    javascript | typescript) versions_node "$@" ;;
    java)
        for name; do
            for jar in /deps/"${name#*:}"-[0-9]*.jar; do
                jar=${jar##*/"${name#*:}"-}
                echo "$name ${jar%.jar}"
            done
        done
        ;;
    python)
        python3 -c 'import importlib.metadata as m
for one in m.distributions(path=["/deps"]): print(one.metadata["Name"], one.version)'
        ;;
    rust) awk -F '"' '/^name/ { name = $2 } /^version/ && name { print name, $2 }' /deps/Cargo.lock ;;
    *)
        echo "the versions of packages of $language cannot be compared" >&2
        return 1
        ;;
    esac
}

"$mode" "$@"
