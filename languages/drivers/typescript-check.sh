# Checks the types of the program with the project's own settings, or else as the bundler reads it.
# typescript-check.sh PREPARED SOURCE...; DEPS is the directory of dependencies, if there is one
set -eu
tsc=$1/tsc/lib/tsc roots=$1/node_modules/@types
shift
[ -z "${DEPS:-}" ] || roots=$DEPS/node_modules/@types,$roots

if [ ! -e tsconfig.json ]; then
    set -- --types node --target es2023 --lib esnext --module preserve --jsx react-jsx \
        --allowImportingTsExtensions "$@"
elif grep -q '"types"' tsconfig.json; then
    set -- -p .
else
    # Node's types, unless the project chooses its types.
    set -- -p . --types node
fi
exec "$tsc" --noEmit --pretty false --skipLibCheck --typeRoots "$roots" "$@"
