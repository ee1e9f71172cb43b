# Runs a command for each of several files, even when one fails.
# each.sh N WORD... FILE...; the first N words are the command
set -u
count=$1
shift
command='' index=0
while [ $index -lt "$count" ]; do
    index=$((index + 1))
    command="$command \"\${$index}\""
done
status=0
while [ $index -lt $# ]; do
    index=$((index + 1))
    eval "$command \"\${$index}\"" || status=1
done
exit $status
