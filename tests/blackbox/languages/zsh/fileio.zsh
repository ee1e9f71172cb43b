# Writes, appends, reads, renames, lists and removes in the work directory.
set -eu
mkdir notes
printf 'alpha\nbeta\n' >notes/one.txt
echo gamma >>notes/one.txt
lines=("${(@f)$(<notes/one.txt)}")
echo "${#lines} ${(j:,:)lines}"
for ((i = 0; i < 256; i++)); do printf "\\x$(([##16]i))"; done >raw.bin
echo "$(stat -c %s raw.bin) $(od -An -v -tu1 raw.bin | awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n }')"
mv notes/one.txt notes/two.txt
(cd notes && echo *)
rm notes/two.txt
left=(notes/*(N))
echo ${#left}
scratch=$(mktemp)
echo scratch >$scratch
cat $scratch
