# session-shell.sh NAME SHELL WORD...: the kernel of a session in a POSIX shell or in zsh, which WORD... starts.
#
# The shell is an interactive one without a terminal: an interrupt and an error then end the cell and
# not the shell.  It reads its commands from a pipe.  This process speaks with the session and writes
# each cell to a file, which the shell reads at its top level; what became of it comes back on another
# pipe.
# shellcheck shell=bash
set -u
name=$1 shell=$2
shift 2
channel=$SANDBOX_RUN_KERNEL_FD
unset SANDBOX_RUN_KERNEL_FD ENV
eval "exec {high}<&$channel $channel<&-"
channel=$high
folder=$(mktemp -d "${TMPDIR:-/tmp}/.cells.XXXXXX") || exit 125
mkfifo "$folder/in" "$folder/out" || exit 125
trap 'rm -rf "$folder"' EXIT
echo='command echo'
[[ $name != zsh ]] || echo='builtin echo'
hit='' number=0 length=0 directory=$PWD

send() { # WORD NUMBER ARG PAYLOAD
    local LC_ALL=C
    printf '%s %s %s %d\n%s' "$1" "$2" "$3" "${#4}" "$4" >&"$channel" 2>/dev/null || exit 0
}

# A JSON text, which stands in `text` afterwards.
quote() {
    local LC_ALL=C
    text=$1
    [[ $1 != *[![:print:]]* ]] || printf -v text %q "$1"
    text=${text//\\/\\\\}
    text=\"${text//\"/\\\"}\"
}

say() {
    printf '%s\n' "$1" >&"$to" 2>/dev/null
}

# The shell has a process group of its own, so that an interrupt ends the commands of a cell, too.
set -m
(
    trap - INT
    exec "$@" <"$folder/in" 7>&2 8>&1 9>"$folder/out" {channel}>&- 2>/dev/null # no prompt, yet
) &
kernel=$!
set +m
exec {to}>"$folder/in" {from}<"$folder/out"
trap '' INT # only for a cell
trap '' PIPE # a shell that has ended is seen by `heard`

# A shell at a prompt ignores the signal, unless a cell has set a trap for it; at the end of its
# input it leaves, and what it has set for its exit is done.
leave() {
    kill -TERM -- "-$kernel" 2>/dev/null
    exec {to}>&-
    wait "$kernel"
    exit 143
}
trap leave TERM

# The next line that the shell writes, in `line`; false when it has ended.  A process that was just
# forked may miss an interrupt, and the shell drops COMMAND when one comes as it reads it; so both are
# sent again.
heard() { # [COMMAND]
    while true; do
        if IFS= read -r -t 1 -u "$from" line; then
            return 0
        fi
        kill -0 "$kernel" 2>/dev/null || return 1
        if [[ $hit && ${1-} ]]; then
            kill -INT -- "-$kernel" 2>/dev/null
            say "$1"
        fi
    done
}

ended() {
    local code
    wait "$kernel"
    code=$?
    [[ $running ]] && send 'done' "$number" exit "{\"code\": $code}"
    exit "$code"
}

# The cell's own lines in a message of the shell: NAME: LINE: becomes cell-N: LINE:.
finish() { # STATUS
    rm -f "$folder/cell-$number"
    running=''
    if [[ $hit ]]; then
        send 'done' "$number" interrupted '{}'
    elif [[ $1 == 0 ]]; then
        send 'done' "$number" ok '{}'
    else
        local message="the last command ended with status $1"
        [[ $1 != lost ]] || message='the shell ended the cell at an error'
        send 'done' "$number" error "{\"type\": \"ExitStatus\", \"message\": \"$message\", \"frames\": []}"
    fi
}

# What a cell has closed or ignored is there again for the next one.
repair='trap - INT; [ -e /proc/self/fd/1 ] || exec 1>&8; [ -e /proc/self/fd/2 ] || exec 2>&7'

# Two lines: an interrupt or an error drops what the shell has read of the first.  The second is
# written when the first was read, and says then what the first cannot say any more.  So the shell
# gets no interrupt before.
execute() {
    local status=lost begun='' lost="$echo \"$number lost\" >&9"
    hit='' running=1
    trap 'hit=1; [[ ! $begun ]] || kill -INT -- "-$kernel" 2>/dev/null' INT
    printf '%s\n' "$code" >"$folder/cell-$number"
    say "$repair; $echo \"$number begun\" >&9; . $folder/cell-$number 7>&- 8>&- 9>&- </dev/null; $echo \"$number \$?\" >&9"
    until heard && [[ $line == "$number begun" ]]; do
        kill -0 "$kernel" 2>/dev/null || ended
    done
    begun=1
    [[ ! $hit ]] || kill -INT -- "-$kernel" 2>/dev/null
    say "$lost"
    while heard "$lost"; do
        [[ $line == "$number "* ]] || continue
        [[ $line == "$number lost" ]] && break
        status=${line#* }
    done
    trap '' INT
    kill -0 "$kernel" 2>/dev/null || ended
    finish "$status"
}

check() {
    local said
    said=$(LC_ALL=C "$shell" -n <<<"$code" 2>&1)
    case $said in
    *'end of file'* | *'EOF'* | *'nterminated'* | *'unmatched'* | *'near `\n'*) send answer "$number" incomplete '{"indent": ""}' ;;
    '')
        if [[ $code == *\\ && $code != *\\\\ ]] || has_open_document; then
            send answer "$number" incomplete '{"indent": ""}'
        else
            send answer "$number" complete '{}'
        fi
        ;;
    *) send answer "$number" invalid '{}' ;;
    esac
}

# Only Bash says that a here-document has no end.
has_open_document() {
    [[ $code == *'<<'* && $(LC_ALL=C bash -n <<<"$code" 2>&1) == *'delimited by end-of-file'* ]]
}

# Answers to questions are lines that end with one that is known.
asked() { # COMMAND
    say "{ $1; } 2>/dev/null </dev/null >&9; $echo '$folder' >&9"
    lines=()
    while heard && [[ $line != "$folder" ]]; do
        lines+=("$line")
    done
}

variables() {
    local all='' one value lines=()
    asked "$list_names"
    for one in "${lines[@]}"; do
        one=${one%%=*}
        [[ $one =~ ^[A-Za-z_][A-Za-z_0-9]*$ && " $known " != *" $one "* ]] || continue
        names+=("$one")
    done
    for one in "${names[@]}"; do
        asked "printf '%s' \"\${$one}\" | tr '\\n' ' '; echo"
        value=${lines[0]-}
        quote "$one"
        all+="${all:+, }{\"name\": $text, \"type\": \"text\", \"size\": ${#value}"
        ((${#value} <= 80)) || value=${value:0:77}...
        quote "$value"
        all+=", \"value\": $text}"
    done
    send answer "$number" ok "{\"vars\": [$all]}"
}

complete() { # CURSOR
    local LC_ALL=C before word match all='' names=() lines=()
    before=${code:0:$1}
    before=${before##*$'\n'}
    word=${before##*[[:space:]\;\|\&\(\<\>=\"\'\`]}
    if [[ $word == '$'* ]]; then
        asked "$list_names"
        for match in "${lines[@]}"; do
            [[ \$$match == "$word"* ]] && names+=("\$${match%%=*}")
        done
    else
        directory=$(readlink "/proc/$kernel/cwd") || directory=/
        while IFS= read -r match; do
            names+=("$match")
        done < <(cd "$directory" && compgen -f -- "$word" | sort -u | head -n 500)
    fi
    for match in "${names[@]}"; do
        quote "$match"
        all+=${all:+, }$text
    done
    send answer "$number" ok "{\"matches\": [$all], \"start\": $(($1 - ${#word}))}"
}

running='' known='' names=() lines=()
list_names=set
[[ $name != zsh ]] || list_names="typeset +m '*' | sed 's/.* //'"
say "PS1= PS2= PS4='+ '; exec 2>&7"
asked "$list_names"
for line in "${lines[@]}"; do
    known+=" ${line%%=*}"
done
kill -0 "$kernel" 2>/dev/null || ended
asked 'echo "${ZSH_VERSION-}"'
send ready 0 - "{\"version\": \"${lines[0]-}\", \"can\": [\"check\", \"complete\", \"vars\"], \"pid\": $$}"

while IFS=' ' read -r -u "$channel" word number argument length; do
    code='' names=()
    ((length == 0)) || LC_ALL=C IFS='' read -r -N "$length" -u "$channel" code || break
    case $word in
    execute) execute ;;
    check) check ;;
    complete) complete "$argument" ;;
    vars) variables ;;
    *) send answer "$number" invalid '{"message": "this kernel cannot do that"}' ;;
    esac
done
kill -KILL -- "-$kernel" 2>/dev/null
