#!/bin/sh
# java-command.sh COMMAND...: with the repository of $DEPS for Maven, if there is one.
#
# Maven writes to its repository: a directory of links to the files.
if [ -d "${DEPS-}/repository" ]; then
    repository=${TMPDIR:-/tmp}/maven-repository
    cp -rs "$DEPS/repository" "$repository"
    MAVEN_OPTS="-Dmaven.repo.local=$repository ${MAVEN_OPTS-}"
    export MAVEN_OPTS
fi
exec "$@"
