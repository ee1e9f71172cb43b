here=$(dirname "$0")
. "$here/lib/shapes.sh"
echo "$name $(area 2 3) $(cat "$here/data/words.txt")"
