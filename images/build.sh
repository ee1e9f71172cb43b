#!/bin/sh
# build.sh fetch PACKAGE...   brings Debian packages, with all that they need, to /archives
# build.sh unpack             unpacks them below /out
# build.sh outdated           prints the packages of /image that are behind: NAME OLD NEW
#
# Runs in a sandbox.  /apt is the host's configuration of apt; /work/sources has lines in place
# of its sources, if any; /work/links has a link per line.
#
# Packages are unpacked in another sandbox than the one that fetched them: links in a package lead
# anywhere, and there is no network there, no configuration of apt and no variable of the caller.
# Their scripts are not run: those want root, and what they leave differs from one time to the next.
# What the scripts of our packages would do is done here.
set -eu
umask 022
export LC_ALL=C
mode=$1
shift
state=/tmp/apt
mkdir -p $state/lists/partial $state/archives/partial

unpack() {
    for deb in /archives/*.deb; do
        # By files: in a pipe the failure of the first program would go unseen.
        dpkg-deb --fsys-tarfile "$deb" >$state/files.tar
        dpkg-deb --field "$deb" >$state/control
        tar --extract --keep-directory-symlink --no-same-owner --file $state/files.tar
        sed '1a\
Status: install ok installed' $state/control >>var/lib/dpkg/status
        echo >>var/lib/dpkg/status
    done
}

if [ "$mode" = unpack ]; then
    cd /out
    mkdir -p usr/bin usr/sbin usr/lib usr/lib64 var/lib/dpkg etc root
    for name in bin sbin lib lib64; do
        ln -s "usr/$name" "$name"
    done
    unpack
    newest=$(
        find . -type f ! -path ./var/lib/dpkg/status -printf '%T@\n' |
            cut -d. -f1 | sort -n | tail -n 1
    )
    newest=${newest:-0} # no package has a file

    for name in passwd group; do
        master=usr/share/base-passwd/$name.master
        [ ! -e $master ] || [ -e etc/$name ] || cp $master etc/$name
    done
    if [ -d usr/share/ca-certificates ]; then
        mkdir -p etc/ssl/certs
        find usr/share/ca-certificates -name '*.crt' | sort |
            xargs cat >etc/ssl/certs/ca-certificates.crt
    fi
    triple=$(basename "$(find usr/lib -maxdepth 1 -name '*-linux-gnu' | sort | head -n 1)")
    while read -r link target; do
        case $link in '') continue ;; esac
        link=$(printf '%s' "$link" | sed "s/{triple}/$triple/")
        mkdir -p "$(dirname "./$link")"
        ln -sf "$(printf '%s' "$target" | sed "s/{triple}/$triple/")" "./$link"
    done </work/links
    # An image has one user, who may read all of it.
    chmod -R u+w,a+rX .
    rm -rf usr/share/doc usr/share/man usr/share/info usr/share/lintian var/cache/* var/log/*
    # Ours get the time of the newest file of a package: another build makes the same image.
    find . ! -type d -newermt "@$newest" -exec touch --no-dereference --date="@$newest" {} +
    exit 0
fi

: >$state/status
[ "$mode" = fetch ] || cp /image/var/lib/dpkg/status $state/status
# Keys that the sources name by their paths on the host are in the copy, too.
cp -R /apt $state/etc 2>$state/unreadable || : # as auth.conf may be, which a mirror may not need
find $state/etc -path '*sources.list*' -type f -exec sed -i "s#/etc/apt/#$state/etc/#g" {} +
echo "Dir::Etc \"$state/etc\";" >$state/first
export APT_CONFIG=$state/first
# Read after the host's configuration, whose hooks are for the host and whose recommendations would
# make another image.
cat >$state/conf <<END
#clear APT::Update;
#clear DPkg;
APT::Update::Error-Mode "any";
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state";
Dir::Log "$state";
APT::Sandbox::User "";
APT::Install-Recommends "false";
APT::Get::Assume-Yes "true";
Acquire::Retries "1";
Acquire::EnableSrvRecords "false";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Debug::NoLocking "true";
END
if [ -s /work/sources ]; then
    printf 'Dir::Etc::sourcelist "/work/sources";\nDir::Etc::sourceparts "-";\n' >>$state/conf
fi
# Error-Mode: without its lists nothing would seem to be behind, so a source that fails is an error.
apt_get() {
    apt-get -q=2 -c=$state/conf "$@"
}
apt_get update >&2

if [ "$mode" = outdated ]; then
    apt_get --simulate dist-upgrade >$state/plan
    sed -n 's/^Inst \([^ ]*\) \[\([^]]*\)\] (\([^ ]*\) .*/\1 \2 \3/p' $state/plan | sort
    exit 0
fi

apt_get --download-only install "$@" >&2
mv $state/archives/*.deb /archives
