#!/bin/sh
# java-prepare.sh JDK DRIVERS DIRECTORY: our drivers as jars, and archives of their classes and the compiler's as the JVM
# has them in memory, which halves javac's time.
#
# The JVM takes an archive only with the same jar: by path, size and time of change.
set -e
jdk=$1
drivers=$2
directory=$3
scratch=${TMPDIR:-/tmp}/prepare
inside=jdk.compiler/com.sun.tools.javac

mkdir -p "$scratch/warm" "$scratch/build"
"$jdk/bin/javac" -proc:none -XDignore.symbol.file --add-exports java.base/jdk.internal.vm.annotation=ALL-UNNAMED \
    -d "$scratch/warm" "$drivers/JavaWarm.java"
"$jdk/bin/jar" --create --file "$directory/warm.jar" -C "$scratch/warm" .
"$jdk/bin/javac" -proc:none --add-exports "$inside.api=ALL-UNNAMED" --add-exports "$inside.util=ALL-UNNAMED" \
    -cp "$directory/warm.jar" -d "$scratch/build" "$drivers/JavaBuild.java" "$drivers/JavaWarmBuild.java"
"$jdk/bin/jar" --create --file "$directory/build.jar" -C "$scratch/build" . -C "$scratch/warm" .
touch -d @1000000000 "$directory/build.jar" "$directory/warm.jar"
# The archive is only for speed: a JVM that cannot make one works without.
"$jdk/bin/java" -Xlog:disable -XX:ArchiveClassesAtExit="$directory/javac.jsa" -XX:+UseSerialGC \
    --add-exports "$inside.api=ALL-UNNAMED" --add-exports "$inside.util=ALL-UNNAMED" --add-opens "$inside.util=ALL-UNNAMED" \
    -cp "$directory/build.jar" JavaWarmBuild "--out=$scratch/out" --train || true
