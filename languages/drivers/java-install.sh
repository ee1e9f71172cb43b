#!/bin/sh
# java-install.sh JDK DIRECTORY [GROUP:ARTIFACT[:VERSION] | GROUP:ARTIFACT@VERSION]...
#
# The jars of pom.xml in the current directory, if there is one, and of the words, with their
# dependencies.  The word maven-lifecycle is instead of them: a repository with all that Maven needs
# to test and package that project without a network.
set -e
JAVA_HOME=$1
directory=$2
shift 2
export JAVA_HOME
scratch=${TMPDIR:-/tmp}/maven

if ! command -v mvn > /dev/null; then
    echo "dependencies of Java need Maven: install the package maven" >&2
    exit 1
fi

# Compiled for the Maven that is here; see MavenJars.java.
make_extension() {
    home=$(readlink -f "$(command -v mvn)")
    home=${home%/bin/*}
    mkdir -p "$scratch/extension/META-INF/plexus"
    "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile="$PREPARED/javac.jsa" \
        -Xshare:auto -Xlog:disable -m jdk.compiler/com.sun.tools.javac.Main -proc:none -nowarn \
        -cp "$(printf '%s:' "$home"/lib/*.jar)" -d "$scratch/extension" "${0%/*}/MavenJars.java" "${0%/*}/MavenTrust.java"
    cat > "$scratch/extension/META-INF/plexus/components.xml" << 'END'
<component-set><components><component>
<role>org.apache.maven.AbstractMavenLifecycleParticipant</role>
<role-hint>sandbox-run</role-hint>
<implementation>sandboxrun.MavenJars</implementation>
<requirements><requirement>
<role>org.apache.maven.project.ProjectDependenciesResolver</role><field-name>resolver</field-name>
</requirement><requirement>
<role>org.apache.maven.project.ProjectBuildingHelper</role><field-name>helper</field-name>
</requirement><requirement>
<role>org.apache.maven.model.building.ModelBuilder</role><field-name>models</field-name>
</requirement><requirement>
<role>org.eclipse.aether.RepositorySystem</role><field-name>system</field-name>
</requirement><requirement>
<role>org.eclipse.aether.impl.RemoteRepositoryManager</role><field-name>repositories</field-name>
</requirement></requirements>
</component></components></component-set>
END
}

# Java reads no PEM.  Where the JDK's own store is not made of the certificates that are here (an
# image without that store, or the host's certificates in an image), Maven gets one that is.
trust_certificates() {
    certificates=/etc/ssl/certs/ca-certificates.crt
    store=$JAVA_HOME/lib/security/cacerts
    if [ ! -f "$certificates" ] || { [ -f "$store" ] && [ -z "$(find "$certificates" -newer "$store")" ]; }; then
        return
    fi
    "$JAVA_HOME/bin/java" -cp "$scratch/extension" sandboxrun.MavenTrust "$certificates" "$scratch/trust"
    MAVEN_OPTS="-Djavax.net.ssl.trustStore=$scratch/trust -Djavax.net.ssl.trustStorePassword=public $MAVEN_OPTS"
}

# [POM]: the project's own, of which only the model is read.  The goal is not reached.
copy_jars() {
    mvn -q -B -N -ntp -Dstyle.color=never -Dmaven.artifact.threads=10 -f "$scratch/words/pom.xml" \
        "-Dmaven.repo.local=$scratch/repository" "-Dmaven.ext.class.path=$scratch/extension" \
        "-Dsandboxrun.directory=$directory" ${1:+"-Dsandboxrun.pom=$1"} validate >&2
}

# Without a version: the newest release.
dependency() {
    version=RELEASE
    word=$1
    case $word in
    *@*) version=${word##*@} word=${word%@*} ;;
    *:*:*) version=${word##*:} word=${word%:*} ;;
    esac
    case $word in
    *[!A-Za-z0-9._:-]* | *:*:* | :* | *:) valid=false ;;
    *:*) valid=true ;;
    *) valid=false ;;
    esac
    case $version in
    "" | *[!A-Za-z0-9._+-]*) valid=false ;;
    esac
    if [ "$valid" = false ]; then
        echo "$1: a dependency of Java is GROUP:ARTIFACT or GROUP:ARTIFACT:VERSION" >&2
        return 1
    fi
    echo "<dependency><groupId>${word%%:*}</groupId><artifactId>${word#*:}</artifactId><version>$version</version></dependency>"
}

# DIRECTORY: classes for the sources of the project there, which are not here.  Surefire asks for the
# provider of a framework only when there is a test.
empty_classes() {
    mkdir -p "$1/src/main/java" "$1/src/test/java"
    echo 'class SandboxRunEmpty {}' > "$1/src/main/java/SandboxRunEmpty.java"
    echo 'public class SandboxRunEmptyTest {}' > "$1/src/test/java/SandboxRunEmptyTest.java"
}

# Tests and packages a project without sources once.  A plugin may fail for their lack; what the
# registry did not give is an error.  Notes on where a file came from would tie it to these settings.
fill_repository() {
    find . -name pom.xml | while read -r file; do
        mkdir -p "$scratch/project/${file%/*}"
        cp "$file" "$scratch/project/$file"
        empty_classes "$scratch/project/${file%/*}"
    done
    if ! (cd "$scratch/project" && mvn -B -ntp -fae -Dstyle.color=never -Dmaven.artifact.threads=10 \
        "-Dmaven.repo.local=$directory/repository" -Dmaven.test.failure.ignore=true -DfailIfNoTests=false \
        package) > "$scratch/messages" 2>&1 &&
        grep '^\[ERROR\].*Could not \(resolve\|transfer\|find\)' "$scratch/messages" >&2; then
        exit 1
    fi
    find "$directory/repository" \( -name _remote.repositories -o -name '*.lastUpdated' \
        -o -name resolver-status.properties \) -exec rm -f {} +
}

MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${MAVEN_OPTS-}"
export MAVEN_OPTS
case " $* " in
*" maven-lifecycle "*)
    fill_repository
    exit 0
    ;;
esac
mkdir -p "$scratch/words"
make_extension
trust_certificates
{
    echo '<project><modelVersion>4.0.0</modelVersion><groupId>words</groupId><artifactId>words</artifactId>'
    echo '<version>1</version><packaging>pom</packaging><dependencies>'
    for word; do
        dependency "$word"
    done
    echo '</dependencies></project>'
} > "$scratch/words/pom.xml"
if [ -f pom.xml ]; then
    copy_jars "$PWD/pom.xml"
else
    copy_jars
fi
