here=${0:A:h}
. "$here/lib/shapes.zsh"
echo "$name $(area 2 3) $(<"$here/data/words.txt")"
