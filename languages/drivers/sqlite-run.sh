# Runs a script with a database in memory, with the arguments as parameters ?1, ?2, ... (also $1,
# :1, @1).
# sqlite-run.sh SQLITE3 SOURCE [ARGUMENT]...
#
# The script is read from its file, so that stdin stays the program's own (.import /dev/stdin,
# readfile).
set -eu
sqlite=$1 source=$2
shift 2

# A number is a number only when it is written as SQLite would write it; everything else is text.
literal() {
    case $1 in
    0 | -[1-9] | [1-9]) printf '%s' "$1" ;;
    *[!0-9-]* | '' | 0* | -0* | ?*-* | - | ???????????????????*)
        printf "'"
        printf '%s.' "$1" | sed -e "s/'/''/g" -e '$s/.$//'
        printf "'"
        ;;
    *) printf '%s' "$1" ;;
    esac
}

# A name in a command of SQLite's shell has double quotes and backslash escapes.
case $source in
*[\"\\]*) source=$(printf '%s\n' "$source" | sed -e 's/[\\"]/\\&/g') ;;
esac
# At a terminal a person reads the rows; a script may choose another mode.
mode=
if [ -t 1 ] && "$sqlite" -box -version > /dev/null 2>&1; then
    mode=-box
fi
read_script=".read \"$source\""
if [ $# -eq 0 ]; then
    exec "$sqlite" $mode -batch -bail :memory: "$read_script"
fi
insert='' number=0
for argument; do
    number=$((number + 1)) value=$(literal "$argument")
    for sign in '?' '$' ':' '@'; do
        insert="$insert${insert:+,}('$sign$number',$value)"
    done
done
exec "$sqlite" $mode -batch -bail :memory: '.parameter init' \
    "INSERT INTO temp.sqlite_parameters VALUES $insert;" "$read_script"
