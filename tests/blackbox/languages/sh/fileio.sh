# Writes, appends, reads, renames, lists and removes in the work directory.
set -eu
mkdir notes
printf 'alpha\nbeta\n' >notes/one.txt
echo gamma >>notes/one.txt
echo "$(wc -l <notes/one.txt) $(paste -sd, notes/one.txt)"
i=0
while [ "$i" -lt 256 ]; do
    printf "\\$(printf %03o "$i")"
    i=$((i + 1))
done >raw.bin
echo "$(wc -c <raw.bin) $(od -An -v -tu1 raw.bin | awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n }')"
mv notes/one.txt notes/two.txt
ls notes
rm notes/two.txt
find notes -type f | wc -l
scratch=$(mktemp)
echo scratch >"$scratch"
cat "$scratch"
