# session-compiled.awk: splits a cell of Go or Rust into chunks that end where all brackets are closed.
#
#   awk -v language=go -v cell=N -v folder=DIR -f session-compiled.awk CODE
#
# Writes DIR/item-N-LINE for what belongs to the program, with its key in DIR/item-N-LINE.key, and
# DIR/body-N for the statements; a line of it that is part of an item is empty, so that lines keep their
# numbers.  Prints "open" when a bracket, a text or a comment is not closed, else "last LINE" with the
# line where the last statement begins, and "value" when it may be an expression; and "var NAME" for each
# variable that is declared outside of all brackets.

# Brackets of a line outside of texts and comments; `inside` is what goes on with the next line.  `flat` is
# the line with blanks for all that is in brackets, texts and comments.
function depth_of(line,    i, c, rest, n, from) {
    n = 0; flat = ""
    for (i = 1; i <= length(line); i++) {
        while (length(flat) < i - 1) flat = flat " "
        rest = substr(line, i)
        c = substr(rest, 1, 1)
        from = inside
        if (from == "" && depth + n == 0 && !index("\"`'/", c)) flat = flat c
        if (inside == "/*") {
            if (substr(rest, 1, 2) == "*/") { inside = ""; i++ }
        } else if (inside == "`") {
            if (c == "`") inside = ""
        } else if (inside == "\"") {
            if (c == "\\") i++
            else if (c == "\"") inside = ""
        } else if (substr(rest, 1, 2) == "//") {
            break
        } else if (substr(rest, 1, 2) == "/*") {
            inside = "/*"; i++
        } else if (c == "`" && language == "go") {
            inside = "`"
        } else if (c == "\"") {
            inside = "\""
        } else if (c == "'") {
            if (match(rest, /^'(\\[^']+|\\'|[^\\'][^']?[^']?[^']?)'/)) i += RLENGTH - 1
        } else if (index("([{", c)) {
            n++
        } else if (index(")]}", c)) {
            n--
        }
    }
    if (inside == "\"" && language == "go") inside = ""
    return n
}

# What an item is called: a later one of the same key takes its place.  Empty: it is a statement.
function key_of(line,    words) {
    sub(/^[ \t]+/, "", line)
    if (language == "go") {
        if (line ~ /^import([ \t("]|$)/) return "import " line
        if (line ~ /^func[ \t]*\(/) { match(line, /\)[ \t]*[A-Za-z_0-9]+/); return "method " receiver(line) substr(line, RSTART, RLENGTH) }
        if (match(line, /^(func|type|const|var)[ \t]+[A-Za-z_][A-Za-z_0-9]*/)) { split(substr(line, 1, RLENGTH), words); return (words[1] == "func" ? "name " : "name ") words[2] }
        if (line ~ /^(type|const|var)[ \t]*\(/) return "group " line
        return ""
    }
    while (line ~ /^#!?\[/) { if (!match(line, /\][ \t]*/)) return "attribute"; line = substr(line, RSTART + RLENGTH); if (line == "") return "attribute" }
    sub(/^pub(\([a-z]+\))?[ \t]+/, "", line)
    sub(/^(unsafe|async|const|extern "C")[ \t]+fn/, "fn", line)
    if (line ~ /^(use|extern crate)[ \t]/) return "use " line
    if (match(line, /^impl[^{]*/)) return "impl " substr(line, 1, RLENGTH)
    if (match(line, /^macro_rules![ \t]*[A-Za-z_0-9]+/)) return "macro " substr(line, 1, RLENGTH)
    if (match(line, /^(fn|struct|enum|union|trait|mod|const|static|type)[ \t]+(mut[ \t]+)?[A-Za-z_][A-Za-z_0-9]*/)) { split(substr(line, 1, RLENGTH), words); return "name " words[2] }
    return ""
}

# The names of a list as in `a, b`.
function print_names(list,    names, i, n) {
    n = split(list, names, /[^A-Za-z_0-9]+/)
    for (i = 1; i <= n; i++)
        if (names[i] ~ /^[A-Za-z_]/ && names[i] !~ /^(_|mut|ref|let|var)$/) print "var " names[i]
}

function print_declared(raw, flat,    parts, i, n, at, part, text, stop) {
    n = split(flat, parts, ";")
    at = 1
    for (i = 1; i <= n; i++) {
        part = parts[i]
        text = substr(raw, at, length(part))
        at += length(part) + 1
        if (language == "go" && match(part, /^[A-Za-z_0-9, \t]*:=/) && part !~ /^[ \t]*[a-z]+[ \t]+[A-Za-z_]/)
            print_names(substr(part, 1, RLENGTH - 2))
        if (language == "rust" && match(part, /^[ \t]*let[ \t]/)) {
            gsub(/::/, "  ", part)
            stop = match(part, /[:=]/) ? RSTART : length(part) + 1
            text = substr(text, 1, stop - 1)
            gsub(/[A-Z][A-Za-z_0-9]*/, " ", text) # of types and variants
            print_names(text)
        }
    }
}

# Variables of the program itself, which only Go has.
function print_items(first, last,    i, line) {
    for (i = first; i <= last; i++) {
        line = lines[i]
        if (i == first && line ~ /^[ \t]*var[ \t]*\(/) continue
        if (i == first && !sub(/^[ \t]*var[ \t]+/, "", line)) return
        while (match(line, /^[ \t]*[A-Za-z_][A-Za-z_0-9]*[ \t]*,/)) {
            print_names(substr(line, 1, RLENGTH))
            line = substr(line, RLENGTH + 1)
        }
        if (match(line, /^[ \t]*[A-Za-z_][A-Za-z_0-9]*/)) print_names(substr(line, 1, RLENGTH))
        if (i == first) return
    }
}

function receiver(line) {
    match(line, /\([^)]*\)/)
    return substr(line, RSTART, RLENGTH)
}

{ lines[NR] = $0 }

END {
    depth = 0; inside = ""; start = 1; last = 0; value = 0
    for (n = 1; n <= NR; n++) {
        blank = lines[n] ~ /^[ \t]*(\/\/.*)?$/
        if (n == start && blank && inside == "") { start = n + 1; body[n] = lines[n]; continue }
        depth += depth_of(lines[n])
        if (n == start) first_flat = flat
        text = lines[n]
        sub(/[ \t]*(\/\/.*)?$/, "", text)
        if (depth > 0 || inside != "") continue
        # A line that ends or begins with an operator goes on.
        if (text ~ /([-+*\/%&|^=<,.]|\\)$/ || (n < NR && lines[n + 1] ~ /^[ \t]*[.?]/) ||
            (language == "rust" && n < NR && lines[n + 1] ~ /^[ \t]*else/)) continue
        key = key_of(lines[start])
        if (key == "attribute") continue
        if (language == "rust" && key == "" && n < NR && text !~ /[;}]$/) continue
        if (key != "") {
            file = folder "/item-" cell "-" start
            print key > (file ".key")
            for (i = start; i <= n; i++) { print lines[i] > file; body[i] = "" }
            close(file); close(file ".key")
            print "item " start
            if (language == "go") print_items(start, n)
            value = 0; last = 0
        } else {
            for (i = start; i <= n; i++) body[i] = lines[i]
            print_declared(lines[start], first_flat)
            last = start
            value = text !~ /;$/ && lines[start] !~ /^[ \t]*(var|const|return|if|for|switch|select|go|defer|goto|break|continue|let|while|loop|match|fmt\.Print|print|\{|println!|print!|eprintln!|assert)/ && lines[start] !~ /^[^"'`(]*[^=!<>]=([^=]|$)|(\+\+|--)$/
        }
        start = n + 1
    }
    if (depth > 0 || inside != "" || start <= NR) print "open"
    for (i = start; i <= NR; i++) body[i] = lines[i]
    for (i = 1; i <= NR; i++) print body[i] > (folder "/body-" cell)
    if (last) print "last " last
    if (value) print "value"
}
