# Runs a script with psql on a server of its own, made from prepared files and removed afterwards.
# postgres-run.sh BIN PREPARED SOURCE [ARGUMENT]...
#
# Arguments are the variables arg1, arg2, ...: :'arg1' is a text literal.  Only the script writes to
# stdout and stderr; the server's log is shown when the server does not start.
set -eu
bin=$1 prepared=$2 source=$3
shift 3

data=${TMPDIR:-/tmp}/postgres.$$
mkdir -m 700 "$data"
tar -C "$data" -xf "$prepared/template.tar"
"$bin/postgres" -D "$data" -k "$data" </dev/null >"$data/log" 2>&1 &
server=$!
# The server needs template1 only for CREATE DATABASE, so it can be unpacked now.
tar -C "$data" -xf "$prepared/template1.tar"

# The last line of this file is the server's state.
is_ready() {
    last=
    while read -r line; do
        last=$line
    done <"$data/postmaster.pid"
    [ "$last" = ready ]
} 2>/dev/null

until is_ready; do
    kill -0 $server 2>/dev/null || {
        cat "$data/log" >&2
        exit 125
    }
    sleep 0.002
done

# Moves every argument from the front of the list to its end, as an option.
number=0 count=$#
while [ $number -lt $count ]; do
    number=$((number + 1))
    set -- "$@" -v "arg$number=$1"
    shift
done
status=0
"$bin/psql" -X -q -v ON_ERROR_STOP=1 -P pager=off -h "$data" -U postgres -d postgres "$@" \
    -f "$source" || status=$?
kill -QUIT $server
exit $status
