# A walk through the POSIX shell and the tools of the base system; every line of its output is known.
set -eu

words='the quick brown fox jumps over the lazy dog the end'
for word in $words; do echo "$word"; done | sort | uniq -c | sort -k1,1nr -k2 | awk 'NR < 3 { print $2, $1 }'
set -- $words
echo "$# $1 $(shift 9; echo "$*")"
path=/usr/share/doc/file.tar.gz
echo "${path##*/} ${path%.*} ${path#*.} ${path%%/share*} ${#path} ${unset:-default} ${path:+set}"
echo $((1 << 62)) $((0xff)) $((017)) $((7 / 2)) $((-7 % 3)) $((5 > 3 ? 1 : 2))
fibonacci() {
    a=0 b=1 i=0
    while [ "$i" -lt "$1" ]; do
        b=$((a + b)) a=$((b - a)) i=$((i + 1))
    done
    echo "$a"
}
fibonacci 50
case file.txt in
*.txt | *.md) echo document ;;
*) echo other ;;
esac
printf '%05.1f|%-6s|%x|%o\n' 3.14159 left 255 8
while IFS=: read -r key value; do
    echo "$key=$value"
done <<END | paste -sd';' -
one:$((1))
two:$(echo 2)
END
(trap 'echo in a subshell' EXIT; exit 3) || echo "status $?"
seq 5 | xargs -P2 -I{} sh -c 'echo $(({} * {}))' | sort -n | tr '\n' ' '
echo
mkfifo pipe
cat pipe &
echo through >pipe
wait "$!"
for n in 1 2 3; do
    (sleep 0.0"$n"; exit "$n") &
    pids="${pids-} $!"
done
sum=0
for pid in $pids; do wait "$pid" || sum=$((sum + $?)); done
echo "$sum"
printf abc | sha256sum | cut -c1-16
printf abc | base64
date -u -d '2024-02-28 23:00 UTC + 25 hours' '+%F %a'
echo user@host | sed -E 's/([a-z]+)@([a-z]+)/\2 at \1/'
expr "version 12.5" : '[a-z ]*\([0-9]*\)'
printf squeezed | gzip | gunzip
echo
printf 'b 2\na 1\n' | sort | tr a-z A-Z
getopts ab:c: option -b value && echo "$option $OPTARG"
(exec 3>out; echo aside >&3; exec 3>&-; cat out)
kill -0 $$ && echo alive
command -v printf
eval 'x=5; readonly x; echo "$x"'
trap 'echo "trapped $?"' EXIT
exit 0
