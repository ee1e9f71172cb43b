# session-sql.sh DRIVERS sqlite SQLITE3 | DRIVERS postgres BIN PREPARED: the SQL kernel of a session.
#
# One client of the database lives as long as the session, so transactions and temporary tables do.
# It is given one statement after the other, each as a file; what it prints goes to another file.
# A cell ends at its first error.
# shellcheck shell=bash
set -u
drivers=$1 dialect=$2
channel=$SANDBOX_RUN_KERNEL_FD
unset SANDBOX_RUN_KERNEL_FD
eval "exec {high}<&$channel $channel<&-"
channel=$high
folder=$(mktemp -d "${TMPDIR:-/tmp}/.cells.XXXXXX") || exit 125
mkdir "$folder/statement"
hit='' running='' length=0

send() { # WORD NUMBER ARG PAYLOAD
    local LC_ALL=C
    printf '%s %s %s %d\n%s' "$1" "$2" "$3" "${#4}" "$4" >&"$channel" 2>/dev/null || exit 0
}

said='' expanded='' timing=''

start_sqlite() {
    # Interactive, because otherwise an interrupt ends it.
    coproc client { exec "$1" -interactive :memory: 2>"$folder/err" {channel}>&-; }
    say '.prompt "" ""'
    say '.mode quote'
    say '.headers on'
    say '.separator "\037" "\036"'
    version=$("$1" -version)
}

start_postgres() {
    data=$folder/postgres
    mkdir -m 700 "$data"
    tar -C "$data" -xf "$2/template.tar"
    # Groups of their own: an interrupt of the kernel's group would shut the server down, and end a
    # client that reads its commands from a pipe.  `interrupt` cancels the statement.
    set -m
    "$1/postgres" -D "$data" -k "$data" </dev/null >"$data/log" 2>&1 {channel}>&- &
    server=$!
    tar -C "$data" -xf "$2/template1.tar"
    until [[ -e $data/postmaster.pid && $(tail -n 1 "$data/postmaster.pid") == ready* ]]; do
        kill -0 "$server" 2>/dev/null || {
            cat "$data/log" >&2
            exit 125
        }
        sleep 0.002
    done
    connect=("$1/psql" -X -q -P pager=off -h "$data" -U postgres -d postgres)
    coproc client { exec "${connect[@]}" -A -P footer=off -P null=$'\036NULL' -F $'\037' -R $'\036' \
        2>"$folder/err" {channel}>&-; }
    set +m
    version=$("$1/postgres" --version)
}

say() {
    printf '%s\n' "$1" >&"${client[1]}" 2>/dev/null
}

# Waits until the client has done all that it was told; false when it ended.
reached() {
    if [[ $dialect == sqlite ]]; then
        say '.print "\035"'
    else
        say '\echo `printf "\\035"`'
    fi
    IFS='' read -r -d $'\035' -u "${client[0]}" said
}

interrupt() {
    hit=1
    [[ $running ]] || return
    if [[ $dialect == sqlite ]]; then
        kill -INT "$client_PID" 2>/dev/null
    else
        "${connect[@]}" -c "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'" >/dev/null 2>&1 &
    fi
}

quoted() { # a JSON text, in `text`
    local LC_ALL=C
    text=${1//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\n'/\\n}
    text=${text//[[:cntrl:]]/ }
    text=\"$text\"
}

# `\x` and `\timing`, which psql confirms only when it is not quiet.
note_switch() { # WORDS
    local -n switch=$1
    case $3 in
    on | 1 | true) switch=on ;;
    auto) switch=auto ;;
    '') [[ $switch ]] && switch='' || switch=on ;;
    *) switch='' ;;
    esac
    case $switch in
    on) printf '%s is on.\n' "$2" ;;
    auto) printf '%s is used automatically.\n' "$2" ;;
    *) printf '%s is off.\n' "$2" ;;
    esac
}

# psql draws what its own commands list, and expanded tables; tables are drawn by session-sql.awk.
run_psql() { # FILE
    local words drawn=''
    read -r -d '' -a words < <(tr -d '\0;' <"$1")
    [[ ${words[0]-} != \\x ]] || note_switch expanded 'Expanded display' "${words[1]-}"
    [[ ${words[0]-} != \\timing ]] || note_switch timing 'Timing' "${words[1]-}"
    [[ ! $expanded && ${words[0]-} != \\* ]] || drawn=1
    [[ ! $drawn ]] || say $'\\pset format aligned\n\\pset footer on\n\\pset null \'\''
    say "\\o $folder/out"
    say "\\i $1"
    say '\o'
    [[ ! $drawn ]] || say $'\\pset format unaligned\n\\pset footer off\n\\pset null \'\036NULL\''
}

# CELL STATEMENT: runs one statement; false when it failed.
run_statement() {
    : >"$folder/out"
    : >"$folder/err"
    if [[ $dialect == sqlite ]]; then
        say ".output $folder/out"
        say ".read $folder/statement/$2"
        say '.output stdout'
    else
        run_psql "$folder/statement/$2"
    fi
    reached || return 2
    local time=''
    [[ ! $said =~ Time:\ [^$'\n']* ]] || time=${BASH_REMATCH[0]}
    if [[ -s $folder/out ]]; then
        if LC_ALL=C grep -q $'\036' "$folder/out"; then
            send display "$1" - \
                "$(LC_ALL=C awk -v task=table -v dialect="$dialect" -v time="$time" -f "$drivers/session-sql.awk" "$folder/out")"
            time='' # it stands below the table
        else
            cat "$folder/out"
        fi
    fi
    [[ ! $time ]] || printf '%s\n' "$time"
    [[ ! -s $folder/err ]]
}

failed() { # CELL
    local message line='' text type
    message=$(sed -e "s|^psql:$folder/statement/[0-9]*:\([0-9]*\): |cell-$1:\1: |" \
        -e "s|near line \([0-9]*\)|near line \1 of cell-$1|" "$folder/err" | tr -d '\0')
    printf '%s\n' "$message" >&2
    [[ ! $message =~ cell-[0-9]+:([0-9]+): ]] || line=${BASH_REMATCH[1]}
    [[ ! $message =~ near\ line\ ([0-9]+) ]] || line=${BASH_REMATCH[1]}
    message=${message%%$'\n'*}
    quoted "${message#*: }"
    type=SQLError
    send 'done' "$1" error "{\"type\": \"$type\", \"message\": $text, \"frames\": \
[{\"file\": \"cell-$1\", \"line\": ${line:-1}, \"function\": \"\"}]}"
}

split_code() { # writes the statements of `code`; their number and whether the last one has its end
    rm -f "$folder"/statement/*
    printf '%s' "$code" >"$folder/code"
    LC_ALL=C awk -v task=split -v folder="$folder/statement" -v dialect="$dialect" \
        -f "$drivers/session-sql.awk" "$folder/code"
}

execute() { # CELL
    local count state i
    read -r count state < <(split_code)
    hit='' running=1
    for ((i = 1; i <= count; i++)); do
        run_statement "$1" "$i"
        case $?,$hit in
        2,*)
            running=''
            send 'done' "$1" exit '{"code": 0}'
            leave 0
            ;;
        *,1)
            running=''
            reached
            send 'done' "$1" interrupted '{}'
            return
            ;;
        1,)
            running=''
            failed "$1"
            return
            ;;
        esac
    done
    running=''
    send 'done' "$1" ok '{}'
}

check() { # NUMBER
    local count state
    read -r count state < <(split_code)
    if [[ $state == open && $code != *$'\n' ]]; then
        send answer "$1" incomplete '{"indent": ""}'
    else
        send answer "$1" complete '{}'
    fi
}

# Lines of the query's only column, in a file: a subshell could not speak to the client.
things() { # QUERY
    printf '%s\n' "$1" >"$folder/statement/things"
    : >"$folder/out"
    : >"$folder/err"
    if [[ $dialect == sqlite ]]; then
        say '.mode list'
        say ".output $folder/out"
        say ".read $folder/statement/things"
        say '.output stdout'
        say '.mode quote'
        say '.separator "\037" "\036"'
    else
        say "\\o $folder/out"
        say "\\i $folder/statement/things"
        say '\o'
    fi
    reached || leave 0
    LC_ALL=C tr '\036' '\n' <"$folder/out" | sed -e 1d -e '/^$/d' >"$folder/things"
}

in_sqlite="FROM pragma_table_list AS l WHERE l.schema <> 'temp' AND l.name NOT LIKE 'sqlite\_%' ESCAPE '\\'"
in_postgres="FROM pg_class AS l WHERE relkind IN ('r', 'v', 'm', 'p') AND relnamespace = ANY
    (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')"

vars() { # NUMBER
    local rows
    if [[ $dialect == sqlite ]]; then
        things "SELECT json_object('name', l.name, 'type', l.type, 'size', l.ncol, 'value',
            substr((SELECT group_concat(name, ', ') FROM pragma_table_info(l.name)), 1, 80)) AS x $in_sqlite ORDER BY l.name;"
    else
        things "SELECT json_build_object('name', relname, 'type',
            CASE WHEN relkind IN ('r', 'p') THEN 'table' ELSE 'view' END, 'size', relnatts, 'value',
            left((SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = l.oid AND attnum > 0
                AND NOT attisdropped), 80)) AS x $in_postgres ORDER BY relname;"
    fi
    rows=$(<"$folder/things")
    send answer "$1" ok "{\"vars\": [${rows//$'\n'/, }]}"
}

words='ALTER BEGIN COMMIT CREATE DELETE DISTINCT DROP EXPLAIN EXISTS FROM GROUP HAVING INDEX INSERT INTO
JOIN LIMIT ORDER RETURNING ROLLBACK SELECT TABLE UNION UPDATE VALUES VIEW WHERE WITH'

complete() { # NUMBER CURSOR
    local LC_ALL=C word='' name text found=''
    [[ ! ${code:0:$2} =~ [A-Za-z_][A-Za-z0-9_]*$ ]] || word=${BASH_REMATCH[0]}
    if [[ $word && $dialect == sqlite ]]; then
        things "SELECT l.name AS x $in_sqlite UNION SELECT c.name FROM pragma_table_list AS l, pragma_table_info(l.name) AS c
            ${in_sqlite#*AS l} ORDER BY 1 LIMIT 500;"
    elif [[ $word ]]; then
        things "SELECT relname AS x $in_postgres UNION SELECT attname FROM pg_attribute WHERE attnum > 0
            AND attrelid IN (SELECT oid $in_postgres) ORDER BY 1 LIMIT 500;"
    fi
    while [[ $word ]] && IFS='' read -r name; do
        [[ ${name,,} == "${word,,}"* ]] || continue
        quoted "$name"
        found+="${found:+, }$text"
    done < <(
        printf '%s\n' $words
        [[ ! $word ]] || cat "$folder/things"
    )
    send answer "$1" ok "{\"matches\": [$found], \"start\": $(($2 - ${#word}))}"
}

refuse() { # NUMBER MESSAGE
    local text
    quoted "$2"
    send answer "$1" invalid "{\"message\": $text}"
}

kept='["temporary tables", "settings", "attached databases"]'

# Copies the database.  One in a file of the user's own cannot be put back under its own connection.
checkpoint() { # NUMBER
    local -a states
    : >"$folder/out"
    : >"$folder/err"
    say ".output $folder/out"
    say "SELECT file FROM pragma_database_list WHERE name = 'main' AND file <> '';"
    say '.output stdout'
    say ".backup main $folder/state.$1"
    reached || leave 0
    if [[ -s $folder/out ]]; then
        refuse "$1" 'a database in a file is not saved; copy the file'
    elif [[ -s $folder/err ]]; then
        refuse "$1" 'a state within a transaction cannot be saved; end the transaction first'
    else
        states=("$folder"/state.*)
        ((${#states[@]} <= 8)) || rm -f "$(printf '%s\n' "${states[@]}" | sort -t . -k 3n | head -n 1)"
        send answer "$1" ok "{\"by\": \"copy\", \"not_covered\": $kept}"
        return
    fi
    rm -f "$folder/state.$1"
}

rollback() { # NUMBER
    if [[ ! -e $folder/state.$1 ]]; then
        refuse "$1" "no state was saved before cell $1"
        return
    fi
    say 'ROLLBACK;'
    reached || leave 0
    : >"$folder/err"
    say ".restore main $folder/state.$1"
    reached || leave 0
    if [[ -s $folder/err ]]; then
        refuse "$1" "$(head -n 1 "$folder/err")"
    else
        send answer "$1" ok "{\"by\": \"copy\", \"not_covered\": $kept}"
    fi
}

leave() {
    [[ $dialect != postgres ]] || kill -QUIT "$server" 2>/dev/null
    rm -rf "$folder"
    exit "$1"
}

trap interrupt INT
shift 2
"start_$dialect" "$@"
reached || {
    cat "$folder/err" >&2
    leave 125
}
version=${version#"${version%%[0-9]*}"}
can='"check", "complete", "vars"'
[[ $dialect != sqlite ]] || can+=', "checkpoint"'
send ready 0 - "{\"version\": \"${version%% *}\", \"can\": [$can], \"pid\": $$}"
while IFS=' ' read -r -u "$channel" word number argument length; do
    code=''
    ((length == 0)) || LC_ALL=C IFS='' read -r -N "$length" -u "$channel" code || break
    case $word in
    execute) execute "$number" ;;
    check) check "$number" ;;
    complete) complete "$number" "$argument" ;;
    vars) vars "$number" ;;
    checkpoint | rollback) "$word" "$number" ;;
    *) send answer "$number" invalid '{"message": "this kernel cannot do that"}' ;;
    esac
done
leave 0
