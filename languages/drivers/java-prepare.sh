#!/bin/sh
# java-prepare.sh JDK DRIVERS DIRECTORY: our drivers as jars, and an archive of their classes and
# the compiler's in the JVM's memory layout, which halves javac's time.
#
# The JVM uses an archive only with the same jar: same path, size and modification time.
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
# The archive only saves time: a JVM that cannot make one works without it.
"$jdk/bin/java" -Xlog:disable -XX:ArchiveClassesAtExit="$directory/javac.jsa" -XX:+UseSerialGC \
    --add-exports "$inside.api=ALL-UNNAMED" --add-exports "$inside.util=ALL-UNNAMED" --add-opens "$inside.util=ALL-UNNAMED" \
    -cp "$directory/build.jar" JavaWarmBuild "--out=$scratch/out" --train || true
