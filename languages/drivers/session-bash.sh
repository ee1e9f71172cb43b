# session-bash.sh: the Bash kernel of a session, on the descriptor that SANDBOX_RUN_KERNEL_FD names.
#
# Two processes.  The first passes an interrupt on to the process group of the second, so that the
# commands of a cell are interrupted along with the shell.  The second is the kernel: it sources each
# cell at its top level, so that `declare`, `cd`, functions, traps and jobs are as at a prompt.
#
# A shell cannot set close-on-exec.  A redirection that closes the channel for the length of a cell
# does: the shell keeps a copy that no child gets.
# shellcheck shell=bash disable=SC2317

if [[ ${1-} != kernel ]]; then
    set -m
    "$BASH" "$0" kernel &
    __sbr_kernel=$!
    eval "exec $SANDBOX_RUN_KERNEL_FD>&-"
    trap 'kill -INT -- "-$__sbr_kernel"' INT
    trap 'kill -TERM -- "-$__sbr_kernel"' TERM
    while
        wait "$__sbr_kernel"
        kill -0 "$__sbr_kernel" 2>/dev/null
    do
        :
    done
    wait "$__sbr_kernel"
    exit
fi
shift

trap '' INT
__sbr_fd=$SANDBOX_RUN_KERNEL_FD
eval "exec {__sbr_high}<&$__sbr_fd $__sbr_fd<&-"
__sbr_fd=$__sbr_high
exec {__sbr_out}>&1 {__sbr_err}>&2
__sbr_hidden="$__sbr_fd>&- $__sbr_out>&- $__sbr_err>&- </dev/null"
__sbr_folder=$(mktemp -d "${TMPDIR:-/tmp}/.cells.XXXXXX") || exit 125
__sbr_length=0 __sbr_cell=0 __sbr_options='' __sbr_hit='' __sbr_code='' __sbr_status=0 __sbr_running=''
unset SANDBOX_RUN_KERNEL_FD __sbr_high

__sbr_send() { # WORD NUMBER ARG PAYLOAD; the payload is ASCII
    builtin printf '%s %s %s %d\n%s' "$1" "$2" "$3" "${#4}" "$4" >&"$__sbr_fd" 2>/dev/null ||
        builtin exit 0
}

# A JSON text of any bytes, which stands in __sbr_text afterwards.  printf %q writes what is not ASCII
# as an escape of the shell's.
__sbr_quote() {
    builtin local LC_ALL=C
    __sbr_text=$1
    [[ $1 != *[![:print:]]* ]] || builtin printf -v __sbr_text %q "$1"
    __sbr_text=${__sbr_text//\\/\\\\}
    __sbr_text=\"${__sbr_text//\"/\\\"}\"
}

# While a cell is to be left, each of its commands is skipped and each function and file returned from.
__sbr_leave_cell() {
    builtin local IFS=' '
    case " ${FUNCNAME[*]} " in
    *' source '*) return 2 ;;
    esac
    return 0
}

__sbr_interrupt() {
    __sbr_hit=1
    shopt -s extdebug
    set -T
    trap __sbr_leave_cell DEBUG
}

__sbr_end() { # the shell ends: by `exit`, by `set -e`, by an error that is fatal to it
    builtin local code=$?
    set +eux
    command -p rm -rf "$__sbr_folder"
    [[ ! $__sbr_running ]] || __sbr_send 'done' "$__sbr_cell" exit "{\"code\": $code}"
    builtin exit "$code"
}

__sbr_check() {
    builtin local text
    text=$(LC_ALL=C "$BASH" -n <<<"$__sbr_code" 2>&1)
    case $text in
    *'unexpected end of file'* | *'unexpected EOF'* | *'delimited by end-of-file'*)
        __sbr_send answer "$1" incomplete '{"indent": ""}'
        ;;
    '')
        if [[ $__sbr_code == *\\ && $__sbr_code != *\\\\ ]]; then
            __sbr_send answer "$1" incomplete '{"indent": ""}'
        else
            __sbr_send answer "$1" complete '{}'
        fi
        ;;
    *) __sbr_send answer "$1" invalid '{}' ;;
    esac
}

__sbr_complete() { # NUMBER CURSOR
    builtin local LC_ALL=C line word start sign='' match text='' kind
    line=${__sbr_code:0:$2}
    line=${line##*$'\n'}
    word=${line##*[[:space:]\;\|\&\(\<\>=\"\'\`]}
    line=${line%"$word"}
    line=${line%"${line##*[![:space:]]}"}
    start=$(($2 - ${#word}))
    case $word,$line in
    '${'*) kind=-v sign='${' ;;
    '$'*) kind=-v sign='$' ;;
    */*) kind=-f ;;
    *, | *,*[\;\|\&\(]) kind=-c ;;
    *) kind=-f ;;
    esac
    while IFS= builtin read -r match; do
        [[ $match != __sbr_* ]] || continue
        __sbr_quote "$sign$match"
        text+=${text:+, }$__sbr_text
    done < <(compgen "$kind" -- "${word#"$sign"}" | sort -u | head -n 500)
    __sbr_send answer "$1" ok "{\"matches\": [$text], \"start\": $start}"
}

__sbr_vars() {
    builtin local name text='' value kind
    for name in $(compgen -v); do
        case $name in
        __sbr_* | _ | BASH* | OLDPWD | name | text | value | kind | FUNCNAME | PIPESTATUS | COLUMNS | LINES) continue ;;
        esac
        [[ $__sbr_known != *" $name "* ]] || continue
        value=$(builtin declare -p "$name" 2>/dev/null) || continue
        case $value in
        'declare -a'*) kind=array ;;
        'declare -A'*) kind=map ;;
        'declare -i'*) kind=integer ;;
        *) kind=text ;;
        esac
        [[ $value == *=* ]] && value=${value#*=} || value=''
        __sbr_quote "$name"
        text+="${text:+, }{\"name\": $__sbr_text, \"type\": \"$kind\", \"size\": ${#value}"
        ((${#value} <= 80)) || value=${value:0:77}...
        __sbr_quote "$value"
        text+=", \"value\": $__sbr_text}"
    done
    __sbr_send answer "$1" ok "{\"vars\": [$text]}"
}

# Before the first command of a cell: a message of the shell names a file as it was sourced, so it is
# sourced by its bare name, from its folder.
__sbr_enter() {
    builtin local IFS=' '
    case " ${FUNCNAME[*]} " in
    *' source '*) ;;
    *) return 0 ;;
    esac
    trap - DEBUG
    set +T
    [[ $PWD != "$__sbr_folder" ]] || __sbr_return
    [[ ! $__sbr_options ]] || set "-$__sbr_options"
}

__sbr_return() {
    builtin cd "$__sbr_directory" 2>/dev/null || builtin cd / || :
    OLDPWD=$__sbr_before
}

__sbr_write() { # NUMBER
    __sbr_cell=$1 __sbr_directory=$PWD __sbr_before=${OLDPWD-}
    [[ -d $__sbr_folder ]] || command -p mkdir -p "$__sbr_folder"
    builtin printf '%s\n' "$__sbr_code" >"$__sbr_folder/cell-$1"
    builtin cd "$__sbr_folder" || builtin exit 125
    [[ -e /dev/fd/1 ]] || exec 1>&"$__sbr_out"
    [[ -e /dev/fd/2 ]] || exec 2>&"$__sbr_err"
}

__sbr_done() {
    command -p rm -f "$__sbr_folder/cell-$__sbr_cell"
    if [[ $__sbr_hit ]]; then
        __sbr_send 'done' "$__sbr_cell" interrupted '{}'
    elif ((__sbr_status == 0)); then
        __sbr_send 'done' "$__sbr_cell" ok '{}'
    else
        __sbr_send 'done' "$__sbr_cell" error "{\"type\": \"ExitStatus\", \"message\": \
\"the last command ended with status $__sbr_status\", \"frames\": []}"
    fi
}

# Sockets that cells hold already.
__sbr_sockets() {
    builtin local file
    __sbr_others=' '
    for file in "/proc/$BASHPID/fd/"*; do
        [[ ! -S $file ]] || __sbr_others+="${file##*/} "
    done
}

# While a cell runs, its channel is open only under a number of the shell's own choice: the lowest
# socket that was not there before.
__sbr_channel() {
    builtin local file number
    __sbr_at=''
    for file in "/proc/$BASHPID/fd/"*; do
        number=${file##*/}
        if [[ -S $file && $__sbr_others != *" $number "* ]] && ((number < ${__sbr_at:-number + 1})); then
            __sbr_at=$number
        fi
    done
}

# `read` at the stdin of the kernel: the session asks a person, when there is one.  Of the options of
# the builtin those that name another source or a time mean that it reads by itself.
read() {
    builtin local __sbr_option __sbr_prompt='' __sbr_hide=false __sbr_own='' OPTIND=1 OPTARG
    while builtin getopts ':ersa:d:i:n:N:p:t:u:' __sbr_option; do
        case $__sbr_option in
        p) __sbr_prompt=$OPTARG ;;
        s) __sbr_hide=true ;;
        t | u) __sbr_own=1 ;;
        *) ;;
        esac
    done
    if [[ $__sbr_own || ! /dev/fd/0 -ef /dev/null ]]; then
        # shellcheck disable=SC2162
        builtin read "$@"
        return
    fi
    builtin local __sbr_line __sbr_at
    __sbr_channel
    __sbr_ask "$__sbr_at" || return 1
    # shellcheck disable=SC2162
    builtin read "$@" <<<"$__sbr_line"
}

__sbr_ask() { # DESCRIPTOR; the line stands in __sbr_line afterwards
    builtin local LC_ALL=C IFS=' ' word number how length
    [[ $1 ]] || return 1
    __sbr_quote "$__sbr_prompt"
    __sbr_text="{\"prompt\": $__sbr_text, \"hidden\": $__sbr_hide}"
    builtin printf 'ask %s - %d\n%s' "$__sbr_cell" "${#__sbr_text}" "$__sbr_text" >&"$1" || return 1
    while builtin read -r -u "$1" word number how length; do
        __sbr_line=''
        ((length == 0)) || IFS='' builtin read -r -N "$length" -u "$1" __sbr_line || return 1
        [[ $word != input || $number != "$__sbr_cell" ]] || break
    done
    [[ $how == ok ]]
}

trap __sbr_end EXIT
builtin shopt -u sourcepath
__sbr_known=" $(compgen -v | tr '\n' ' ') "
__sbr_send ready 0 - "{\"version\": \"${BASH_VERSION%%[!0-9.]*}\", \
\"can\": [\"check\", \"complete\", \"vars\"], \"pid\": $$}"

while IFS=' ' builtin read -r -u "$__sbr_fd" __sbr_word __sbr_number __sbr_argument __sbr_length; do
    __sbr_code=''
    ((__sbr_length == 0)) ||
        LC_ALL=C IFS='' builtin read -r -N "$__sbr_length" -u "$__sbr_fd" __sbr_code || break
    case $__sbr_word in
    execute) ;;
    check) __sbr_check "$__sbr_number" ;;
    complete) __sbr_complete "$__sbr_number" "$__sbr_argument" ;;
    vars) __sbr_vars "$__sbr_number" ;;
    input) continue ;; # the cell that asked was interrupted meanwhile
    *) __sbr_send answer "$__sbr_number" invalid '{"message": "this kernel cannot do that"}' ;;
    esac
    [[ $__sbr_word == execute ]] || continue
    __sbr_write "$__sbr_number"
    __sbr_sockets
    __sbr_running=1
    trap __sbr_interrupt INT
    trap __sbr_enter DEBUG
    set -T
    builtin eval "builtin . cell-$__sbr_number $__sbr_hidden"
    {
        __sbr_status=$?
        __sbr_options=${-//[!euxvf]/}
        set +euxvf
        trap '' INT
        trap - DEBUG
        builtin shopt -u extdebug
        set +T
    } 2>/dev/null
    [[ $PWD != "$__sbr_folder" ]] || __sbr_return
    __sbr_done
    __sbr_hit='' __sbr_running=''
done
trap - EXIT
command -p rm -rf "$__sbr_folder"
