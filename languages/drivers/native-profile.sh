#!/bin/sh
# native-profile.sh PROFILE PROGRAM ARGUMENT...: runs a program that is linked with sampler.o, and
# turns its samples into PROFILE: lines FRAME;FRAME MICROSECONDS, the outermost function first.
#
# The names come from symbols and debug information, by nm and addr2line.  They read files that the
# program may have spoilt, so this is done here, inside.  A function has the place where it begins;
# one that the compiler inlined has the first line of it that a sample saw.
profile=$1
shift
scratch=${TMPDIR:-/tmp}/sandbox-run-profile.$$
mkdir "$scratch" || exit 1

# SIGTERM of a time-out is for the program: there is time to leave what it did until then.
trap : TERM
SANDBOX_RUN_SAMPLES=$scratch/samples "$@"
status=$?
times > "$scratch/times"
[ -e "$scratch/samples" ] || : > "$scratch/samples"
tr -d '\000' < "$scratch/samples" > "$scratch/text"

# The addresses of each object, in 16 digits, as nm and addr2line print them.
awk -v scratch="$scratch" '
$1 == "o" { print substr($0, 3) > (scratch "/objects") }
$1 == "s" {
    for (i = 3; i <= NF; i++)
        if (!($i in seen) && split($i, part, ":") == 2) {
            seen[$i] = 1
            print substr("0000000000000000" part[2], length(part[2]) + 1) > (scratch "/" part[1] ".addresses")
        }
}' "$scratch/text"

# symbols_of OBJECT FILE: for each address the start of its function, its name and, for those of the
# program itself, the place; or nothing.
symbols_of() {
    lines=
    [ "$1" != 0 ] || lines=-l
    {
        # shellcheck disable=SC2086 # one word or none
        { nm --defined-only -S $lines "$2" && nm --defined-only -DS "$2"; } 2> /dev/null | awk -F '\t' '
        split($1, word, " ") == 4 && word[3] ~ /^[TtWwiuV]$/ {
            sub(/@.*/, "", word[4])
            print word[1], 0, word[2], word[4], $2
        }'
        sed 's/$/ 1/' "$scratch/$1.addresses"
    } | LC_ALL=C sort | awk '
    function number(hex, i, n) {
        for (i = 1; i <= length(hex); i++)
            n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
        return n
    }
    $2 == 0 {
        start = $1
        end = number($1) + number($3)
        sub(/^[^ ]+ [^ ]+ [^ ]+ /, "")
        named = $0
    }
    $2 == 1 { if (start != "" && number($1) < end) print $1, start, named }'
}

if [ -e "$scratch/objects" ]; then
    while read -r object file; do
        if [ ! -e "$scratch/$object.addresses" ] || [ ! -f "$file" ]; then
            continue
        fi
        symbols_of "$object" "$file" > "$scratch/$object.symbols"
        cut -d ' ' -f 2 "$scratch/$object.symbols" | sort -u > "$scratch/$object.starts"
        addr2line -a -e "$file" < "$scratch/$object.starts" > "$scratch/$object.places" 2> /dev/null
        addr2line -a -f -i -e "$file" < "$scratch/$object.addresses" > "$scratch/$object.lines" 2> /dev/null
    done < "$scratch/objects"
fi

# What the system counted and no sample saw: children, threads that block SIGURG, what was too short.
awk -v scratch="$scratch" '
function plain(name) {
    sub(/\.(part|constprop|isra|cold|lto_priv)(\.[0-9]+)*$/, "", name)
    gsub(/[;\r]/, ",", name)
    return name
}
function place_of(text) {
    sub(/ \(discriminator [0-9]+\)$/, "", text)
    return text ~ /^\?|:[0?]$/ ? "" : text
}
# Adds an inlined function, and keeps the least line of it.
function add_inlined(key, name, place, file, line) {
    file = line = place
    sub(/:[0-9]+$/, "", file)
    sub(/^.*:/, "", line)
    name = plain(name) SUBSEP file
    inlined[key, ++n_inlined[key]] = name
    if (!(name in least) || line + 0 < least[name])
        least[name] = line + 0
}
function read_object(number, path, key, line, name, place, part) {
    base[number] = path
    sub(/^.*\//, "", base[number])
    while ((getline line < (scratch "/" number ".symbols")) > 0) {
        split(line, part, " ")
        start[number, part[1]] = part[2]
        symbol[number, part[1]] = part[3]
        sub(/^[^ ]+ [^ ]+ [^ ]+ ?/, "", line)
        declared[number, part[2]] = place_of(line)
    }
    while ((getline line < (scratch "/" number ".places")) > 0)
        if (line ~ /^0x/)
            key = substr(line, 3)
        else
            begins[number, key] = declared[number, key] != "" ? declared[number, key] : place_of(line)
    # The last pair of an address is the function itself, those before it are inlined.
    key = ""
    while ((getline line < (scratch "/" number ".lines")) > 0)
        if (line ~ /^0x[0-9a-f]+$/) {
            key = number SUBSEP substr(line, 3)
            name = ""
        } else {
            if (name != "" && place != "")
                add_inlined(key, name, place)
            name = line
            if ((getline place < (scratch "/" number ".lines")) <= 0)
                break
            place = place_of(place)
        }
}
# The frames of an address, outermost first.
function frames_of(word, part, key, text, place, i, pair) {
    if (split(word, part, ":") != 2)
        return "[unknown]"
    key = part[1] SUBSEP substr("0000000000000000" part[2], length(part[2]) + 1)
    place = (key in start) ? begins[part[1], start[key]] : ""
    text = (key in symbol) ? plain(symbol[key]) (place != "" ? " (" place ")" : " [" base[part[1]] "]") : "[" base[part[1]] "]"
    for (i = n_inlined[key]; i > 0; i--) {
        split(inlined[key, i], pair, SUBSEP)
        text = text ";" pair[1] " (" pair[2] ":" least[inlined[key, i]] ")"
    }
    return text
}
# What is outside main, and in Rust outside the mark that its traces end at, only started it.
function stack_of(i, text, frame, last) {
    for (i = NF; i > 2; i--) {
        if (!($i in known))
            known[$i] = frames_of($i)
        frame = known[$i]
        if (frame ~ /^main[ ;]|__rust_begin_short_backtrace/)
            text = ""
        if (frame ~ /__rust_begin_short_backtrace/)
            continue
        if (frame ~ /^\[/ && frame == last)
            continue
        text = text (text != "" ? ";" : "") frame
        last = frame
    }
    return text
}
function seconds(text, part) {
    split(text, part, "m")
    return part[1] * 60 + part[2]
}
BEGIN {
    while ((getline line < (scratch "/objects")) > 0) {
        number = path = line
        sub(/ .*/, "", number)
        sub(/^[0-9]+ /, "", path)
        read_object(number, path)
    }
    while ((getline line < (scratch "/times")) > 0) {
        split(line, used, " ")
        all = (seconds(used[1]) + seconds(used[2])) * 1000000
    }
}
$1 == "s" && NF > 2 {
    stack = stack_of()
    spent[stack != "" ? stack : known[$3]] += $2
    sum += $2
}
END {
    for (stack in spent)
        if (spent[stack] >= 1)
            printf "%s %d\n", stack, spent[stack]
    if (all - sum > 20000 + all / 50)
        printf "(not sampled) %d\n", all - sum
}' "$scratch/text" > "$scratch/stacks"
# Without the hashes that Rust puts into names.
demangle() {
    if command -v c++filt > /dev/null; then
        c++filt
    else
        cat
    fi
}
demangle < "$scratch/stacks" |
    sed 's/::h[0-9a-f]\{16\}\([ ;]\)/\1/g; s/\[[0-9a-f]\{16\}\]//g; s,/rustc/[0-9a-f]*/library/,library/,g' > "$scratch/named"
mv "$scratch/named" "$profile"
rm -rf "$scratch"
exit $status
