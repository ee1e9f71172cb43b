# Says what it was given: arguments, one variable, stdin line by line.
printf 'args: '
for word; do printf '[%s]' "$word"; done
printf '\nGREETING: %s\n' "${GREETING-unset}"
number=0
while IFS= read -r line || [[ -n $line ]]; do
    echo "$((++number)): $line"
done
