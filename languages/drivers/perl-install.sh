#!/bin/sh
# perl-install.sh PERL DIRECTORY [MODULE[@VERSION]]...: modules of the words, and those of a cpanfile
# in the current directory, into DIRECTORY/lib/perl5.
#
# Everything is fetched first, then modules are built without a network; their own tests are not run.
set -e
perl=$1
directory=$2
shift 2
scratch=${TMPDIR:-/tmp}/install

cpanm=${perl%/*}/cpanm
[ -f "$cpanm" ] || cpanm=$(command -v cpanm) || {
    echo "modules of Perl need cpanm: install the package cpanminus" >&2
    exit 1
}
command -v make > /dev/null || {
    echo "modules of Perl are built with make: install the package make" >&2
    exit 1
}
for word; do
    case ${word%@*} in
    -* | .* | /* | *[!A-Za-z0-9_:-]*)
        echo "'$word' is no module: write NAME or NAME@VERSION" >&2
        exit 1
        ;;
    esac
done

# cpanm keeps the words of a compiler to its log.
quietly() {
    if ! "$@" > "$scratch/messages" 2>&1; then
        cat "$scratch/messages" >&2
        sed -n '/^Building /,$p' "$PERL_CPANM_HOME/build.log" 2> /dev/null | tail -n 20 >&2
        exit 1
    fi
}

# shellcheck disable=SC2086 # options, to be split
install() {
    quietly "$perl" "$cpanm" --mirror "file://$scratch/shelf" --mirror-only $options -L "$directory" "$@"
}

# shellcheck disable=SC2086 # options, to be split
fetch() {
    quietly "$perl" "${0%/*}/perl-fetch.pl" "$cpanm" "$scratch/shelf" $servers $options "$@"
}

close_network() {
    # shellcheck disable=SC2016 # Perl's own variables
    "$perl" -e 'my $to = gethostbyname(shift); exit !($to && $to eq "\x7f\0\0\1")' close.sandbox-run.internal || {
        echo 'the network could not be given back, so no module was built' >&2
        exit 1
    }
}

options='--quiet --notest --no-interactive --no-man-pages'
mkdir -p "$scratch/shelf"
PERL_CPANM_HOME=$scratch/cpanm
export PERL_CPANM_HOME
# By itself cpanm asks without encryption.
case ${PERL_CPANM_OPT-} in
*--mirror* | *--from* | *-M*) servers= ;;
*) servers='--mirror https://www.cpan.org/ --cpanmetadb https://cpanmetadb.plackperl.org/v1.0/' ;;
esac
[ ! -f cpanfile ] || fetch --installdeps --cpanfile cpanfile .
[ $# -eq 0 ] || fetch "$@"
close_network
PERL_CPANM_OPT=
[ ! -f cpanfile ] || install --installdeps --cpanfile cpanfile .
[ $# -eq 0 ] || install "$@"
