# A walk through the shell and the tools of the base system; every line of its output is known.
set -euo pipefail
export TZ=UTC
shopt -s extglob

declare -A counts=()
for word in the quick brown fox jumps over the lazy dog the end; do
    counts[$word]=$((${counts[$word]-0} + 1))
done
for word in "${!counts[@]}"; do echo "${counts[$word]} $word"; done | sort -k1,1nr -k2 | head -n 2
list=(e d c b a)
mapfile -t sorted < <(printf '%s\n' "${list[@]}" | sort)
echo "${sorted[*]} ${#sorted[@]} ${sorted[@]:1:2} ${list[-1]}"
text='Hello, World'
echo "${text^^} ${text,,} ${text/World/Shell} ${text:7} ${#text} ${text//o/0} ${text%%,*}"
path=/usr/share/doc/file.tar.gz
echo "${path##*/} ${path%.*} ${path##*.} ${path/usr/opt}"
if [[ user@host =~ ^([a-z]+)@([a-z]+)$ ]]; then echo "${BASH_REMATCH[2]} at ${BASH_REMATCH[1]}"; fi
echo $((2 ** 62)) $((0xff)) $((16#7f + 8#17)) $((7 / 2)) $((-7 % 3)) $((5 > 3 ? 1 : 2))
fibonacci() {
    local a=0 b=1 i
    for ((i = 0; i < $1; i++)); do ((a = a + b, b = a - b, 1)); done
    echo "$a"
}
echo "$(fibonacci 50) {a,b}{1..3}" {a,b}{1..3}
case file.txt in *.@(txt|md)) echo document ;; *) echo other ;; esac
printf '%05.1f|%-6s|%q|%(%Y-%m-%d)T\n' 3.14159 left 'a b' 0
while read -r key value; do
    echo "$key=$value"
done <<'END' | paste -sd';'
one 1
two 2
END
trap 'echo "trapped $?"' EXIT
(trap 'echo in a subshell' EXIT; exit 3) || echo "status $?"
seq 5 | xargs -P2 -I{} sh -c 'echo $(({} * {}))' | sort -n | tr '\n' ' '
echo
coproc cat
echo through >&"${COPROC[1]}"
read -r back <&"${COPROC[0]}"
exec {COPROC[1]}>&-
echo "$back"
for n in 1 2 3; do (sleep 0.0"$n"; exit "$n") & pids+=("$!"); done
sum=0
for pid in "${pids[@]}"; do wait "$pid" || sum=$((sum + $?)); done
echo "$sum"
printf abc | sha256sum | cut -c1-16
printf abc | base64
date -u -d '2024-02-28 23:00 UTC + 25 hours' '+%F %a'
awk 'BEGIN { printf "%.3f\n", atan2(0, -1) }'
printf squeezed | gzip | gunzip
echo
find . -maxdepth 1 -name '*.bash' | sort | head -n 1
diff <(printf 'a\nb\n') <(printf 'a\nc\n') || true
declare -n name=text
name=changed
echo "$text ${FUNCNAME[0]-none} $BASH_SUBSHELL"
set +e
false | true
echo "${PIPESTATUS[*]}"
