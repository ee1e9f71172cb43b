#!/bin/sh
# python-command.sh COMMAND...: with the packages of a project, if they are an environment of their
# own ($DEPS), and with what its set-up has made ($BUILD).
if [ ! -f "${DEPS-}/pyvenv.cfg" ]; then
    unset DEPS BUILD
    exec "$@"
fi
# Nothing of ours is on the module path: the environment has it all, as outside.
rest=
set -f
IFS=:
for part in ${PYTHONPATH-}; do
    case $part in
    "$DEPS" | "$PWD" | /driver) ;;
    *) rest=${rest:+$rest:}$part ;;
    esac
done
unset IFS
set +f
PYTHONPATH=$rest
[ "$rest" ] || unset PYTHONPATH
if [ -n "${BUILD-}" ]; then
    [ ! -d "$BUILD/work" ] || cp -R "$BUILD/work/." .
    [ ! -d "$BUILD/bin" ] || PATH=$BUILD/bin:$PATH
    [ ! -f "$BUILD/failed" ] || {
        echo "sandbox-run: the project's own package could not be set up; its sources alone are on the path:"
        sed 's/^/  /' "$BUILD/failed"
    } >&2
fi
[ ! -f "$DEPS/sandbox-run-notes" ] || sed 's/^/sandbox-run: /' "$DEPS/sandbox-run-notes" >&2
VIRTUAL_ENV=$DEPS
export VIRTUAL_ENV PATH
unset DEPS BUILD
exec "$@"
