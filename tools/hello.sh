#!/bin/bash
# Runs a first program at the strongest tier that this machine gives.
#
#   tools/hello.sh [SANDBOX-RUN]
#
# Where that is not `container`, two lines behind it say what is missing and what mends it, in doctor's words.
set -euo pipefail

tool=${1:-build/sandbox-run}
hello=(--text --lang python --code 'print("Hello from inside the sandbox")')

if "$tool" exec --quiet -- true >/dev/null 2>&1; then
    exec "$tool" run "${hello[@]}"
fi

# What is missing one by one is doctor's to tell.
status=0
{ "$tool" run --allow-degraded "${hello[@]}" 2>&1 >&3 | sed '/^sandbox-run: without /d' >&2; } 3>&1 || status=$?

# Of what is missing: the names, the reason of the first, and the lines that mend that.
names=() reason='' fixes=() tier=none
while IFS= read -r line; do
    if [[ $line =~ ^missing\ +([a-z]+\ [a-z]+)\ +(.*) && ${BASH_REMATCH[1]} != 'trial run' ]]; then
        names+=("${BASH_REMATCH[1]}")
        reason=${reason:-${BASH_REMATCH[2]}}
    elif [[ $line =~ ^\ +(.*) && ${#names[@]} == 1 ]]; then
        fixes+=("${BASH_REMATCH[1]}")
    fi
done <<<"$("$tool" doctor || true)"
((${#names[@]})) || exit "$status"
((status)) || tier=$("$tool" exec --allow-degraded --json -- true | sed -n 's/.*"tier": *"\([a-z]*\)".*/\1/p')

# Containers are started in several ways; bubblewrap alone covers nothing but sys, bus and irq.
engine=docker
[[ ! -e /run/.containerenv ]] || engine=podman
grep -qE ' /proc/(acpi|asound|kcore|keys|scsi|timer_list) ' /proc/self/mountinfo || engine=bwrap
mends=${fixes[0]-}
for line in "${fixes[@]}"; do
    [[ $line != "$engine "* ]] || mends=$line
done
((${#mends} > 0 && ${#mends} < 130)) && mends="\`$mends\`; \`$tool doctor\` has the rest" ||
    mends="\`$tool doctor\` prints the lines"

printf -v list ', %s' "${names[@]:1}"
((${#names[@]} > 1)) || list=
printf "This machine gives isolation '%s', not 'container'; missing: %s (%s)%s.\n" \
    "$tier" "${names[0]}" "$reason" "$list" >&2
printf 'What mends it: %s.\n' "$mends" >&2
exit "$status"
