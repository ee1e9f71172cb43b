#!/bin/sh
# lua-install.sh LUA DIRECTORY [NAME[@VERSION]]...
#
# DIRECTORY/lua has the modules in Lua, DIRECTORY/clua those in C, whatever the version of Lua is.
set -e
lua=$1
directory=$2
shift 2
scratch=${TMPDIR:-/tmp}/install

if ! command -v luarocks > /dev/null; then
    echo "packages of Lua need LuaRocks: install the package luarocks" >&2
    exit 1
fi
version=$("$lua" -e 'print((_VERSION:gsub("Lua ", "")))')

# LuaRocks wants the headers of Lua even for a rock without C.  Where they are not installed it
# finds these, and a compiler that reads them says what is missing.
headers() {
    number=$(echo "$version" | awk -F. '{ printf "%d%02d", $1, $2 }')
    for place in /usr/include/lua"$version" /usr/local/include/lua"$version" /usr/local/include /usr/include; do
        if grep -q "LUA_VERSION_NUM[[:space:]]*$number" "$place/lua.h" 2> /dev/null; then
            echo "$place"
            return
        fi
    done
    mkdir -p "$scratch/include"
    printf '#define LUA_VERSION_NUM %s\n#error "a rock in C needs the headers of Lua: install the package liblua%s-dev"\n' \
        "$number" "$version" | tee "$scratch/include/lua.h" > "$scratch/include/lauxlib.h"
    echo "$scratch/include"
}

# Shows messages only when a command fails.
quietly() {
    if ! "$@" > "$scratch/messages" 2>&1; then
        cat "$scratch/messages" >&2
        return 1
    fi
}

check() {
    case ${1%@*} in
    -* | *[!A-Za-z0-9._/-]* | */*/* | ../* | ./* | /*)
        echo "'$1' is no rock: write NAME, USER/NAME or NAME@VERSION" >&2
        exit 1
        ;;
    esac
}

# Building a rock runs its code: when everything is fetched, without a network.
close_network() {
    case $(getent ahostsv4 close.sandbox-run.internal) in
    127.0.0.1*) ;;
    *)
        echo 'the network could not be given back, so no rock was built' >&2
        exit 1
        ;;
    esac
}

# LuaRocks reads LUA_INIT before it begins: lua-fetch.lua is a command of it.
fetch() {
    (cd "$shelf" && LUA_INIT="@$drivers/lua-fetch.lua" quietly luarocks --lua-version "$version" download "$@")
}

install() {
    wanted=
    case $1 in
    *@*) wanted=${1##*@} ;;
    esac
    name=${1%@*}
    quietly luarocks --lua-version "$version" --tree "$scratch/tree" install --only-server "$shelf" "${name##*/}" \
        ${wanted:+"$wanted"} "LUA_INCDIR=$incdir" || {
        echo "the rock '$1' could not be installed" >&2
        exit 1
    }
}

drivers=$(cd "${0%/*}" && pwd)
shelf=$scratch/shelf
mkdir -p "$shelf" "$directory"
incdir=$(headers)
for word; do
    check "$word"
done
i=$#
while [ "$i" -gt 0 ]; do # the newest is what is wanted when nothing else is
    set -- "$@" "${1%@latest}"
    shift
    i=$((i - 1))
done
fetch "$@" || {
    echo "the rocks '$*' could not be fetched" >&2
    exit 1
}
close_network
for word; do
    install "$word"
done
for kind in share/lua:lua lib/lua:clua bin:bin; do
    place=$scratch/tree/${kind%:*}
    [ "${kind#*:}" = bin ] || place=$place/$version
    [ ! -d "$place" ] || cp -r "$place" "$directory/${kind#*:}"
done
