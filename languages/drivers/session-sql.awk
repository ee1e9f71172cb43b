# session-sql.awk: the texts of the SQL kernel.
#
# -v task=split -v folder=DIR -v dialect=sqlite|postgres CODE
#     Writes each statement of the cell to DIR/1, DIR/2, ..., behind as many empty lines as stand before
#     it in the cell, so that messages name the lines of the cell.  Prints their number; "open" when the
#     last one has no end.
# -v task=table OUTPUT
#     A result set with the separators 0x1f and 0x1e, its header first, as a JSON MIME bundle: an aligned
#     table, HTML, and the rows.  SQLite's values are literals (.mode quote).

function fill(  line) {
    while ((getline line < file) > 0)
        code = code line "\n"
}

# The place behind what begins at `at` with this sign, or the end of the text.
function behind(at, sign,  found) {
    found = index(substr(code, at), sign)
    return found ? at + found - 1 + length(sign) : length(code) + 1
}

function statement(from, to,  text, lines, blank) {
    text = substr(code, from, to - from)
    if (text ~ /^[ \t\n;]*$/)
        return
    blank = substr(code, 1, from - 1)
    lines = gsub(/\n/, "\n", blank)
    name = folder "/" ++count
    printf "" > name
    while (lines-- > 0)
        printf "\n" > name
    printf "%s\n", text > name
    close(name)
}

function split_code(  at, from, rest, word, depth, tag, line) {
    fill()
    from = at = 1
    while (at <= length(code)) {
        rest = substr(code, at, 400)
        if (substr(rest, 1, 2) == "--")
            at = behind(at, "\n")
        else if (substr(rest, 1, 2) == "/*")
            at = behind(at + 2, "*/")
        else if (rest ~ /^['"`]/)
            at = behind(at + 1, substr(rest, 1, 1))
        else if (dialect == "postgres" && match(rest, /^\$[A-Za-z_]*\$/)) {
            tag = substr(rest, 1, RLENGTH)
            at = behind(at + RLENGTH, tag)
        } else if (rest ~ /^[.\\]/ && substr(code, from, at - from) ~ /^[ \t\n;]*$/) {
            at = behind(at, "\n") # a command of the shell is a line
            statement(from, at)
            from = at
        } else if (match(rest, /^[A-Za-z_][A-Za-z_0-9]*/)) {
            word = toupper(substr(rest, 1, RLENGTH))
            at += RLENGTH
            # The statements of a trigger stand between BEGIN and END.
            if (word == "TRIGGER" && toupper(substr(code, from, at - from)) ~ /^[ \t\n]*CREATE/ && dialect == "sqlite")
                depth = 1
            else if (word == "CASE" && depth)
                depth++
            else if (word == "END" && depth)
                depth--
        } else if (substr(rest, 1, 1) == ";" && !depth) {
            statement(from, at + 1)
            from = ++at
        } else
            at++
    }
    line = substr(code, from)
    # A comment is no statement.
    gsub(/--[^\n]*/, "", line)
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    if (line ~ /[^ \t\n;]/) {
        code = substr(code, 1, length(code)) "\n;"
        statement(from, length(code) + 1)
        unfinished = 1
    }
    print count + 0, (unfinished ? "open" : "closed")
}

function json(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    gsub(/\n/, "\\n", text)
    gsub(/\r/, "\\r", text)
    gsub(/\t/, "\\t", text)
    gsub(/[\001-\010\013\014\016-\037]/, "?", text)
    return "\"" text "\""
}

function html(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

# A value as a person reads it.
function plain(text) {
    if (dialect == "sqlite" && text ~ /^'.*'$/) {
        text = substr(text, 2, length(text) - 2)
        gsub(/''/, "'", text)
    } else if (dialect != "sqlite" && text == "\036NULL")
        text = "NULL"
    return text
}

function value(text) {
    if (text == "NULL" || text == "\036NULL")
        return "null"
    if (text ~ /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ && length(text) < 17)
        return text
    return json(plain(text))
}

# Columns of a terminal: bytes that go on with a character do not count.
function width(text) {
    gsub(/[\200-\277]/, "", text)
    return length(text)
}

function pad(text, to, right,  spaces) {
    spaces = sprintf("%" (to - width(text) > 0 ? to - width(text) : 0) "s", "")
    return right ? spaces text : text spaces
}

function one_line(text) {
    text = plain(text)
    gsub(/\n/, " ", text)
    return text
}

function table(  n, i, j, rows, cells, number, line, rule, text, page, data, names, most) {
    RS = "\036"
    most = 1000
    while ((getline line < file) > 0) {
        sub(dialect == "sqlite" ? "^\n" : "\n$", "", line)
        if (line == "" && rows)
            continue
        if (rows++ > most)
            continue
        n = split(line, cells, "\037")
        for (i = 1; i <= n; i++) {
            body[rows, i] = cells[i]
            if (width(one_line(cells[i])) > wide[i])
                wide[i] = width(one_line(cells[i]))
            if (rows > 1 && value(cells[i]) ~ /^"/)
                left[i] = 1
        }
        columns = n > columns ? n : columns
    }
    if (!rows)
        exit
    for (j = 1; j <= rows && j <= most + 1; j++) {
        line = ""
        page = page "<tr>"
        data = data (j > 2 ? ", " : "") (j > 1 ? "{" : "")
        for (i = 1; i <= columns; i++) {
            line = line (i > 1 ? " | " : "") pad(one_line(body[j, i]), wide[i], j > 1 && !left[i])
            page = page (j == 1 ? "<th>" : "<td>") html(plain(body[j, i])) (j == 1 ? "</th>" : "</td>")
            if (j > 1)
                data = data (i > 1 ? ", " : "") json(plain(body[1, i])) ": " value(body[j, i])
            if (j == 1)
                rule = rule (i > 1 ? "-+-" : "") dashes(wide[i])
        }
        sub(/ +$/, "", line)
        page = page "</tr>"
        data = data (j > 1 ? "}" : "")
        text = text line "\n" (j == 1 ? rule "\n" : "")
    }
    if (rows > most + 1)
        text = text "(" rows - 1 - most " more rows)\n"
    sub(/\n$/, "", text)
    if (time != "")
        text = text "\n" time
    printf "{\"text/plain\": %s, \"text/html\": %s, \"application/json\": [%s]}",
        json(text), json("<table>" page "</table>"), data
}

function dashes(n,  text) {
    while (n-- > 0)
        text = text "-"
    return text
}

BEGIN {
    file = ARGV[1]
    if (task == "split")
        split_code()
    else
        table()
    exit
}
