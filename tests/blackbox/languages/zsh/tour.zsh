# A walk through zsh and the tools of the base system; every line of its output is known.
set -eu
setopt pipefail extendedglob
export TZ=UTC

typeset -A counts
for word in the quick brown fox jumps over the lazy dog the end; do
    counts[$word]=$((${counts[$word]:-0} + 1))
done
for word count in ${(kv)counts}; do echo $count $word; done | sort -k1,1nr -k2 | head -n 2
list=(e d c b a)
sorted=(${(o)list})
echo $sorted ${#sorted} ${sorted[2,3]} ${list[-1]}
text='Hello, World'
echo ${(U)text} ${(L)text} ${text/World/Shell} ${text[8,-1]} ${#text} ${text//o/0} ${text%%,*}
path_of=/usr/share/doc/file.tar.gz
echo ${path_of:t} ${path_of:r} ${path_of:e} ${path_of:h}
if [[ user@host =~ '^([a-z]+)@([a-z]+)$' ]]; then echo "$match[2] at $match[1]"; fi
echo $((2 ** 62)) $((0xff)) $((16#7f + 8#17)) $((7 / 2)) $((7 / 2.0)) $((5 > 3 ? 1 : 2))
fibonacci() {
    local a=0 b=1 i
    for ((i = 0; i < $1; i++)); do ((a = a + b, b = a - b, 1)); done
    echo $a
}
echo $(fibonacci 50) {a,b}{1..3}
case file.txt in *.(txt|md)) echo document ;; *) echo other ;; esac
printf '%05.1f|%-6s|%q\n' 3.14159 left 'a b'
echo ${(j:;:)${(f)"$(printf 'one 1\ntwo 2\n')"}}
repeat 2 echo again
(trap 'echo in a subshell' EXIT; exit 3) || echo "status $?"
seq 5 | xargs -P2 -I{} sh -c 'echo $(({} * {}))' | sort -n | tr '\n' ' '
echo
coproc cat
echo through >&p
read -r back <&p
echo $back
sum=0
for n in 1 2 3; do (exit $n) & wait $! || sum=$((sum + $?)); done
echo $sum
printf abc | sha256sum | cut -c1-16
awk 'BEGIN { printf "%.3f\n", atan2(0, -1) }'
diff <(printf 'a\nb\n') =(printf 'a\nc\n') || true
zmodload zsh/mathfunc
printf '%.3f\n' $((sqrt(2)))
set +e
false | true
echo $pipestatus
