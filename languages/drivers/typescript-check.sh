# Checks the types of the program with the project's own settings, or else as the bundler understands it.
# typescript-check.sh PREPARED SOURCE...; DEPS names the directory of dependencies, if there is one
set -eu
tsc=$1/tsc/lib/tsc roots=$1/node_modules/@types
shift
[ -z "${DEPS:-}" ] || roots=$DEPS/node_modules/@types,$roots
common="--noEmit --pretty false --skipLibCheck --typeRoots $roots"

if [ -e tsconfig.json ]; then
    # Node's types, unless the project says which it wants.
    grep -q '"types"' tsconfig.json || common="$common --types node"
    exec "$tsc" -p . $common
fi
exec "$tsc" $common --types node --target es2023 --lib esnext --module preserve --jsx react-jsx \
    --allowImportingTsExtensions "$@"
