#!/bin/sh
# java-prepare.sh JDK DRIVERS DIRECTORY: our driver as a jar, and an archive of the classes of driver and
# compiler as the JVM has them in memory, which halves javac's time.
#
# The JVM takes the archive only with the same jar: by path, size and time of change.
set -e
jdk=$1
drivers=$2
directory=$3
scratch=${TMPDIR:-/tmp}/prepare

mkdir -p "$scratch/classes"
"$jdk/bin/javac" -proc:none -d "$scratch/classes" "$drivers/JavaBuild.java"
"$jdk/bin/jar" --create --file "$directory/build.jar" -C "$scratch/classes" .
touch -d @1000000000 "$directory/build.jar"
# The archive is only for speed: a JVM that cannot make one works without.
"$jdk/bin/java" -Xlog:disable -XX:ArchiveClassesAtExit="$directory/javac.jsa" -XX:+UseSerialGC \
    -cp "$directory/build.jar" JavaBuild --train "$scratch/Wrong.java" "--main=$drivers/JavaBuild.java" \
    "--out=$scratch/out" "$drivers/JavaBuild.java" || true
