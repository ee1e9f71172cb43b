#!/bin/sh
# node-command.sh COMMAND...: the packages that only one workspace of the project has stand in its
# node_modules; those of all are linked already.
if [ -d "${DEPS-}" ]; then
    (cd "$DEPS" && find . -name node_modules -prune -type d) | while read -r modules; do
        [ "$modules" = ./node_modules ] || [ -e "$modules" ] || ln -s "$DEPS/$modules" "$modules" 2> /dev/null
    done
fi
unset DEPS
exec "$@"
