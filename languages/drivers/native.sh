#!/bin/sh
# native.sh MAIN COMPILER ARGUMENT...: compiles and links C or C++ with the fastest linker.
#
# Measured on small programs: gold saves a sixth of gcc's whole time; mold and lld gain nothing over
# the default linker.  -fuse-ld=gold comes first, so that the user's own -fuse-ld wins.
#
# With $PROJECT, undefined functions of the program are looked up in its neighbours: sources in its
# directory, in the project's root, and in the directories of the headers that it includes.  They
# become a library, from which the linker takes what it needs: their main functions and their errors
# do not matter to a program that does not use them.
main=$1
compiler=$2
shift 2
live=
sampled=
traced=
# live.o (docs/buffering.md) is for ordinary programs of this machine's C library.  sampler.o
# (docs/batch.md) is also for static ones.
for word; do
    case $word in
    -static*) live=no ;;
    -shared | -nostd* | -nodefaultlibs | -m32 | -mx32 | -r | -c | -S | -E | -M | -MM | --target* | -fsanitize=*thread*)
        live=no
        sampled=no
        ;;
    esac
    case $word in
    -fsanitize=*) traced=yes ;;
    esac
done
# A sanitizer is to name lines of the source: debug information, and no optimisation of ours.
for word; do
    shift
    case $live$traced,$word in
    no*,*/live.o) ;;
    *,*/sampler.o)
        set -- "$@" -g
        [ -n "$sampled" ] || set -- "$@" "$word"
        ;;
    *yes,-O1)
        set -- "$@" -O0 -g -fno-omit-frame-pointer
        traced=taken
        ;;
    *) set -- "$@" "$word" ;;
    esac
done
if command -v ld.gold > /dev/null; then
    set -- -fuse-ld=gold "$@"
fi
[ -n "$PROJECT" ] || exec "$compiler" "$@"

scratch=${TMPDIR:-/tmp}/native
newline='
'
mkdir -p "$scratch"
case $main in
*.c) ending=c ;;
*) ending='c[cpx]*' ;;
esac

# True for options to compile one more file: not those of the linker, and not the output's name.
is_option() {
    case $before,$1 in
    -o,* | *,-o | *,-l* | *,-Wl,* | *,*.[ao] | *,*.so) return 1 ;;
    *,-*) return 0 ;;
    esac
    [ ! -e "$1" ]
}

# One file per line; ignores names with a line break.
list_neighbours() {
    {
        echo "${main%/*}"
        echo "$PROJECT"
        "$compiler" "$@" -MM "$main" 2> /dev/null | tr -d '\134' | tr ' ' '\n' | sed -n 's,^\(.*\)/[^/]*$,\1,p'
    } | sort -u | while IFS= read -r directory; do
        case $directory in
        "$PROJECT" | "$PROJECT"/*) find "$directory" -maxdepth 1 -type f -name "*.$ending" ;;
        esac
    done | grep -Fxv -e "$main" | head -n 1000
}

compile_neighbours() {
    number=0 most=$(nproc)
    while IFS= read -r file; do
        number=$((number + 1))
        "$compiler" "$@" -c -o "$scratch/$number.o" "$file" 2> "$scratch/$number.messages" &
        [ $((number % most)) -ne 0 ] || wait
    done < "$scratch/neighbours"
    wait
}

if "$compiler" "$@" 2> "$scratch/messages"; then
    cat "$scratch/messages" >&2
    exit 0
elif ! grep -Eq 'undefined (reference|symbol)' "$scratch/messages"; then
    cat "$scratch/messages" >&2
    exit 1
fi
(
    before=
    for word; do
        shift
        ! is_option "$word" || set -- "$@" "$word"
        before=$word
    done
    list_neighbours "$@" > "$scratch/neighbours"
    compile_neighbours "$@"
)
for object in "$scratch"/*.o; do :; done
if [ ! -e "$object" ]; then
    cat "$scratch"/*messages >&2
    exit 1
fi
ar rcs "$scratch/neighbours.a" "$scratch"/*.o
# The library comes first among the linked ones: after the program, before what it needs itself.
libraries=
for word; do
    shift
    case $word in
    -l*) libraries="$libraries$newline$word" ;;
    *) set -- "$@" "$word" ;;
    esac
done
IFS=$newline
set -f
# shellcheck disable=SC2086 # one word a line
"$compiler" "$@" "$scratch/neighbours.a" $libraries && exit 0
# The missing functions may be in a file that failed to compile.
set +f
cat "$scratch"/[0-9]*.messages >&2
exit 1
