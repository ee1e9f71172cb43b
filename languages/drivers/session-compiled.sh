# session-compiled.sh go|rust DRIVERS COMPILER [NAME=VALUE...]: the kernel of a session in a compiled language.
#
# The session is one program that grows.  Items (imports, functions, types, constants) are parts of
# the program, and a later one of the same name takes the place of an earlier one.  Statements are the
# body of main: those of earlier cells run again before a new cell, without output, so that their
# variables are there.  A cell that fails is not kept.
# shellcheck shell=bash
set -u
language=$1 drivers=$2 compiler=$3
shift 3
PREPARED='' DEPS='' PROJECT=''
for word; do
    export "${word?}"
done
export PREPARED DEPS PROJECT
channel=$SANDBOX_RUN_KERNEL_FD
unset SANDBOX_RUN_KERNEL_FD
eval "exec {high}<&$channel $channel<&-"
channel=$high
folder=$(mktemp -d "${TMPDIR:-/tmp}/.cells.XXXXXX") || exit 125
trap '((BASHPID != $$)) || rm -rf "$folder"' EXIT
trap '' INT
mkdir "$folder/build" "$folder/scratch"
mkfifo "$folder/errors"
hit='' number=0 length=0 code='' program=''
items=() # files of the items, in their order
bodies=() # numbers of the cells that have statements
declare -A key_of=() unused=() unread=() value_at=() # value_at: the line of a cell's value
# shellcheck source-path=SCRIPTDIR source=session-names.sh
. "$drivers/session-names.sh"

send() { # WORD NUMBER ARG PAYLOAD
    local LC_ALL=C
    printf '%s %s %s %d\n%s' "$1" "$2" "$3" "${#4}" "$4" >&"$channel" 2>/dev/null || exit 0
}

quote() { # a JSON text, in `text` afterwards
    local LC_ALL=C
    text=${1//[^[:print:]]/ }
    text=${text//\\/\\\\}
    text=\"${text//\"/\\\"}\"
}

split_cell() {
    awk -v language="$language" -v cell="$number" -v folder="$folder" -f "$drivers/session-compiled.awk" "$folder/code"
}

# --- Go: every line says which cell it is from.

go_prelude='func sbrShow(values ...any) {
	text := ""
	for i, value := range values {
		if i > 0 { text += " " }
		switch value := value.(type) {
		case string: text += sbrfmt.Sprintf("%q", value)
		case error: text += value.Error()
		default: text += sbrfmt.Sprintf("%+v", value)
		}
	}
	if sbrOut != 0 || len(values) == 0 || len(values) == 1 && values[0] == nil { return }
	sbrsyscall.Write(9, []byte("{\"text/plain\": " + sbrJSON(text) + "}"))
}
func sbrJSON(text string) string {
	json := []byte{34}
	for _, c := range text {
		if c == 34 || c == 92 { json = append(json, 92) }
		if c < 32 { json = append(json, sbrfmt.Sprintf("\\u%04x", c)...) } else { json = append(json, string(c)...) }
	}
	return string(append(json, 34))
}
var sbrOut, sbrErr = sbrQuiet()
func sbrQuiet() (int, int) {
	out, _ := sbrsyscall.Dup(1)
	err, _ := sbrsyscall.Dup(2)
	none, _ := sbrsyscall.Open("/dev/null", 1, 0)
	sbrsyscall.Dup3(none, 1, 0)
	sbrsyscall.Dup3(none, 2, 0)
	return out, err
}
func sbrLoud() { sbrsyscall.Dup3(sbrOut, 1, 0); sbrsyscall.Dup3(sbrErr, 2, 0); sbrsyscall.Close(sbrOut); sbrsyscall.Close(sbrErr); sbrOut = 0 }'

go_items() { # imports: 1 or 0
    local item key place is_import
    for item in "${items[@]}"; do
        key=${key_of[$item]}
        [[ $key == import* ]] && is_import=1 || is_import=0
        ((is_import == $1)) || continue
        if ((is_import)); then
            go_import <"$folder/$item"
        elif [[ $3 == "$2" || ! $(head -n 1 "$folder/$item") =~ ^[[:space:]]*var ]] || [[ $item != "item-$number-"* ]]; then
            place=${item#item-}
            printf '//line cell-%s:%d\n' "${place%-*}" "${place#*-}"
            cat "$folder/$item"
        fi
    done
}

# One line for each import, without those that nothing uses.
go_import() {
    local line
    while IFS= read -r line; do
        line=${line%%//*}
        if [[ $line =~ (([A-Za-z_.][A-Za-z_0-9]*)[[:space:]]+)?(\"[^\"]+\") ]]; then
            [[ ${BASH_REMATCH[2]} != import ]] || line=${line#*import}
            [[ $line =~ (([A-Za-z_.][A-Za-z_0-9]*)[[:space:]]+)?(\"[^\"]+\") ]]
            [[ ${unused[${BASH_REMATCH[3]}]-} ]] || echo "import ${BASH_REMATCH[0]}"
        fi
    done
}

go_body() { # NUMBER SHOW LAST
    local line n=0 value=''
    printf '//line cell-%s:1\n' "$1"
    while IFS= read -r line; do
        n=$((n + 1))
        if [[ $2 != 1 ]] || ((n < $3)); then
            printf '%s\n' "$line"
        else
            value+=${value:+$'\n'}$line
        fi
    done <"$folder/body-$1"
    # Go ends a statement at the end of a line, so the bracket stands before it.
    [[ $2 != 1 ]] || printf 'sbrShow(%s)\n' "${value%"${value##*[![:space:]]}"}"
    for line in ${unread[$1]-}; do
        printf '_ = %s\n' "$line"
    done
}

go_program() { # SHOW LAST VARIABLES-IN-MAIN
    local cell
    echo 'package main'
    echo 'import sbrfmt "fmt"'
    echo 'import sbrreflect "reflect"'
    echo 'import sbrsyscall "syscall"'
    go_items 1 x x
    printf '%s\n' "$go_prelude"
    go_notes_prelude
    if [[ $3 == 1 ]]; then go_items 0 a b; else go_items 0 x x; fi
    echo 'func main() {'
    for cell in "${bodies[@]}"; do
        go_body "$cell" "${value_at[$cell]:+1}" "${value_at[$cell]-}"
        echo '{'
    done
    echo 'sbrLoud()'
    if [[ $3 == 1 ]]; then
        for cell in "${items[@]}"; do
            [[ $cell == "item-$number-"* && $(head -n 1 "$folder/$cell") =~ ^[[:space:]]*var ]] || continue
            printf '//line cell-%s:%d\n' "$number" "${cell##*-}"
            cat "$folder/$cell"
        done
    fi
    [[ ! -s $folder/body-$number ]] || go_body "$number" "$1" "$2"
    echo 'sbrsyscall.Write(8, []byte("end")); sbrQuiet()'
    go_notes
    for cell in "${bodies[@]}"; do
        echo '}'
    done
    echo '}'
}

# What Go refuses though it does no harm here: unused imports, and variables for a later cell.
go_excuses() {
    local found=1 line
    while IFS= read -r line; do
        # The second form is that of Go 1.19 and before.
        if [[ $line =~ (\"[^\"]+\")\ imported\ (as\ [^ ]+\ )?and\ not\ used || $line =~ imported\ and\ not\ used:\ (\"[^\"]+\") ]]; then
            [[ ${unused[${BASH_REMATCH[1]}]-} ]] || found=0
            unused[${BASH_REMATCH[1]}]=1
        elif [[ $line =~ ^[^:]*cell-([0-9]+):[0-9:]+\ declared\ and\ not\ used:\ ([A-Za-z_0-9]+) ||
            $line =~ ^[^:]*cell-([0-9]+):[0-9:]+\ ([A-Za-z_0-9]+)\ declared\ (and|but)\ not\ used ]]; then
            if [[ " ${unread[${BASH_REMATCH[1]}]-} " != *" ${BASH_REMATCH[2]} "* ]]; then
                unread[${BASH_REMATCH[1]}]+=" ${BASH_REMATCH[2]}" found=0
            fi
        elif [[ $line =~ ^[^:]*sbr-names:([0-9]+): ]]; then
            [[ ${hidden[${variables[BASH_REMATCH[1] - 1]}]-} ]] || found=0
            hidden[${variables[BASH_REMATCH[1] - 1]}]=1
        fi
    done <"$folder/messages"
    return "$found"
}

go_compile() {
    [[ ! $DEPS ]] || rm -rf "$folder/scratch" && mkdir -p "$folder/scratch" # it links to a cache of its own
    (cd "$folder/build" && TMPDIR=$folder/scratch sh "$drivers/go-build.sh" build "$compiler" "$folder/build/main.go" \
        "$folder/program" "$folder/build/main.go" --) >"$folder/messages" 2>&1
}

# --- Rust has no lines of another file: a table says where each line is from.

rust_prelude='#![allow(warnings)]
mod sbr {
    extern "C" { fn dup(fd: i32) -> i32; fn dup2(a: i32, b: i32) -> i32; fn close(fd: i32) -> i32;
        fn open(path: *const u8, flags: i32) -> i32; fn write(fd: i32, data: *const u8, len: usize) -> isize; }
    pub fn quiet() -> (i32, i32) { unsafe { let kept = (dup(1), dup(2)); let none = open(b"/dev/null\0".as_ptr(), 1);
        dup2(none, 1); dup2(none, 2); close(none); kept } }
    static mut QUIET: bool = true;
    pub fn loud(kept: (i32, i32)) { unsafe { QUIET = false; } use std::io::Write; let _ = std::io::stdout().flush();
        unsafe { dup2(kept.0, 1); dup2(kept.1, 2); close(kept.0); close(kept.1); } }
    pub fn put(fd: i32, text: &str) { unsafe { write(fd, text.as_ptr(), text.len()); } }
    pub fn show(text: String) {
        if unsafe { QUIET } || text == "()" { return; }
        put(9, &format!("{{\"text/plain\": \"{}\"}}", escaped(&text)));
    }
    pub fn escaped(text: &str) -> String {
        let mut json = String::new();
        for c in text.chars() { match c { \x27"\x27 | \x27\\\x27 => { json.push(\x27\\\x27); json.push(c) }
            c if (c as u32) < 32 => json.push_str(&format!("\\u{:04x}", c as u32)), c => json.push(c) } }
        json
    }
}'

rust_part() { # CELL FIRST-LINE FILE
    printf '/*sbr %s %s*/' "$1" "$2"
    cat "$3"
}

rust_body() { # NUMBER SHOW LAST
    local line n=0
    printf '/*sbr %s 1*/' "$1"
    while IFS= read -r line; do
        n=$((n + 1))
        # A value is only looked at: shown or not, it is there for the next cell.
        [[ $2 != 1 || $n != "$3" ]] || printf 'match &('
        printf '%s\n' "$line"
    done <"$folder/body-$1"
    if [[ $2 == 1 ]]; then
        echo ') { sbr_value => sbr::show(format!("{:?}", sbr_value)) }'
    fi
    echo ';'
}

rust_program() { # SHOW LAST IGNORED
    local item cell
    printf '%s\n' "${rust_prelude//\\x27/\'}"
    rust_notes_prelude
    for item in "${items[@]}"; do
        cell=${item#item-}
        rust_part "${cell%-*}" "${cell#*-}" "$folder/$item"
    done
    echo 'fn main() { let sbr_kept = sbr::quiet();'
    for cell in "${bodies[@]}"; do
        rust_body "$cell" "${value_at[$cell]:+1}" "${value_at[$cell]-}"
    done
    echo 'sbr::loud(sbr_kept);'
    [[ ! -s $folder/body-$number ]] || rust_body "$number" "$1" "$2"
    echo 'sbr::put(8, "end"); sbr::quiet();'
    rust_notes
    echo '}'
}

# main.rs:LINE: becomes cell-N:LINE:.
rust_lines() {
    awk 'FNR == NR { if (match($0, /\/\*sbr [0-9]+ [0-9]+\*\//)) { split(substr($0, RSTART + 6, RLENGTH - 8), w, " "); cell = w[1]; n = w[2] }
            else n++
            at[FNR] = cell ":" n; next }
        { while (match($0, /[^ ]*main\.rs:[0-9]+/)) { place = substr($0, RSTART, RLENGTH); sub(/.*:/, "", place)
              $0 = substr($0, 1, RSTART - 1) "cell-" at[place] substr($0, RSTART + RLENGTH) }
          gsub(/\/\*sbr [0-9]+ [0-9]+\*\//, ""); print; fflush() }' "$folder/build/main.rs" -
}

rust_compile() {
    local said
    [[ ! $DEPS ]] || rm -rf "$folder/scratch" && mkdir -p "$folder/scratch" # it links to a cache of its own
    (cd "$folder/build" && TMPDIR=$folder/scratch sh "$drivers/rust-build.sh" build "$compiler" main.rs "$folder/program") \
        >"$folder/said" 2>&1
    said=$?
    rust_lines <"$folder/said" >"$folder/messages"
    return "$said"
}

# --- Both.

source_of() {
    [[ $language == go ]] && echo "$folder/build/main.go" || echo "$folder/build/main.rs"
}

build() { # SHOW LAST VARIABLES-IN-MAIN
    local tries=0
    while ((tries++ < 8)); do
        "${language}_program" "$@" >"$(source_of)"
        "${language}_compile" && return 0
        [[ ! $hit ]] || return 1
        "${language}_excuses" || return 1
    done
    return 1
}

# Adds the items of the cell; those of the same name go.
add_items() {
    local line item key old kept
    for line in $1; do
        item=item-$number-$line
        key=$(<"$folder/$item.key")
        kept=()
        for old in "${items[@]}"; do
            [[ ${key_of[$old]} == "$key" ]] || kept+=("$old")
        done
        items=("${kept[@]}" "$item")
        key_of[$item]=$key
    done
}

fail() { # TYPE MESSAGE
    local file='' line=0 frames='' text
    if [[ $2 =~ (cell-[0-9]+):([0-9]+) || $(<"$folder/messages") =~ (cell-[0-9]+):([0-9]+) ]]; then
        file=${BASH_REMATCH[1]} line=${BASH_REMATCH[2]}
        frames="{\"file\": \"$file\", \"line\": $line, \"function\": \"\"}"
    fi
    quote "$2"
    send 'done' "$number" error "{\"type\": \"$1\", \"message\": $text, \"frames\": [$frames]}"
}

run_program() {
    local status reader=''
    : >"$folder/shown" >"$folder/end" >"$folder/messages" >"$folder/notes"
    set -m
    if [[ $language == go ]]; then
        "$folder/program" 7>"$folder/notes" 8>"$folder/end" 9>"$folder/shown" {channel}>&- </dev/null &
    else
        rust_lines <"$folder/errors" >&2 {channel}>&- &
        reader=$!
        "$folder/program" 7>"$folder/notes" 8>"$folder/end" 9>"$folder/shown" {channel}>&- </dev/null 2>"$folder/errors" &
    fi
    program=$!
    set +m
    [[ ! $hit ]] || kill -INT -- "-$program" 2>/dev/null
    while
        wait "$program"
        status=$?
        kill -0 "$program" 2>/dev/null
    do
        :
    done
    kill -KILL -- "-$program" 2>/dev/null
    program=''
    [[ ! $reader ]] || wait "$reader"
    return "$status"
}

# The kernel is alive in any case: only the program of the cell has ended.
finish() { # STATUS
    if [[ $hit ]]; then
        send 'done' "$number" interrupted '{}'
        return 1
    fi
    if [[ -s $folder/shown ]]; then
        send display "$number" - "$(<"$folder/shown")"
    fi
    if [[ -s $folder/end ]]; then
        send 'done' "$number" ok '{}'
        return 0
    fi
    case $language$1 in
    go2 | rust101) fail panic 'the program panicked; the cell is not kept' ;;
    *) fail ExitStatus "the cell ended its program with status $1; it is not kept" ;;
    esac
    return 1
}

compiled() { # SPLIT
    local last='' value=0 word rest has_vars=0 show vars
    while read -r word rest; do
        case $word in
        last) last=$rest ;;
        value) value=1 ;;
        esac
    done <<<"$1"
    [[ $language == go ]] && grep -lq '^[[:space:]]*var' "$folder/item-$number-"* 2>/dev/null && has_vars=1
    for vars in $(seq 0 "$has_vars"); do
        for show in $(seq "$value" -1 0); do
            if build "$show" "$last" "$vars"; then
                value_at[$number]=
                ((!show)) || value_at[$number]=$last
                return 0
            fi
            [[ ! $hit ]] || return 1
        done
    done
    return 1
}

execute() {
    local said old_items=("${items[@]}") old_variables=("${variables[@]}") lines='' word rest status
    printf '%s\n' "$code" >"$folder/code"
    hit='' unused=()
    trap 'hit=1; [[ ! $program ]] || kill -INT -- "-$program" 2>/dev/null' INT
    said=$(split_cell)
    while read -r word rest; do
        [[ $word != item ]] || lines+=" $rest"
        [[ $word != var ]] || add_variables "$rest"
    done <<<"$said"
    add_items "$lines"
    if ! compiled "$said"; then
        trap '' INT
        items=("${old_items[@]}") variables=("${old_variables[@]}")
        if [[ $hit ]]; then
            send 'done' "$number" interrupted '{}'
        else
            cat "$folder/messages" >&2
            fail CompileError "$(grep -m 1 -E 'cell-[0-9]+:|^error' "$folder/messages")"
        fi
        return
    fi
    run_program
    status=$?
    trap '' INT
    if ! finish "$status"; then
        items=("${old_items[@]}") variables=("${old_variables[@]}")
        return
    fi
    mv -f "$folder/notes" "$folder/vars"
    if grep -q '[^[:space:]]' "$folder/body-$number" 2>/dev/null; then
        bodies+=("$number")
    fi
}

check() {
    local said
    printf '%s\n' "$code" >"$folder/code"
    number=check said=$(split_cell)
    rm -f "$folder"/*-check*
    if [[ $said == *open* ]]; then
        send answer "$1" incomplete '{"indent": ""}'
    else
        send answer "$1" complete '{}'
    fi
}

version=$("$compiler" $([[ $language == go ]] && echo version || echo --version) 2>/dev/null)
[[ $version =~ [0-9]+(\.[0-9]+)+ ]] && version=${BASH_REMATCH[0]} || version=''
send ready 0 - "{\"version\": \"$version\", \"can\": [\"check\", \"complete\", \"vars\"], \"pid\": $$}"

while IFS=' ' read -r -u "$channel" word number argument length; do
    code=''
    ((length == 0)) || LC_ALL=C IFS='' read -r -N "$length" -u "$channel" code || break
    case $word in
    execute) execute ;;
    check) check "$number" ;;
    complete) answer_complete "$number" "$argument" ;;
    vars) answer_vars "$number" ;;
    *) send answer "$number" invalid '{"message": "this kernel cannot do that"}' ;;
    esac
done
