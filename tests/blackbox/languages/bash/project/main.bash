here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib/shapes.bash"
echo "$name $(area 2 3) $(<"$here/data/words.txt")"
