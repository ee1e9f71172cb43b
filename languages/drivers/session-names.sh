# session-names.sh: what the kernel of a compiled language knows of names; session-compiled.sh reads it.
#
# The program of a cell notes its variables when the cell has ended: their types and the beginning of their
# values.  A question is answered from these notes, so that nothing runs again for it.  A variable that cannot
# be looked at, as one of Rust that was moved, has no note.
# shellcheck shell=bash
variables=() # names, in the order of their declaration
declare -A hidden=() # those whose note the compiler refuses

# Each note is one line, an object of JSON, on descriptor 7.  No method of the user's is called.
go_notes_prelude() {
    cat <<'END'
func sbrNote(name string, value any) {
	kind, text, size := "nil", []byte{}, uintptr(0)
	if value != nil {
		kind, size = sbrreflect.TypeOf(value).String(), sbrreflect.TypeOf(value).Size()
		sbrText(&text, sbrreflect.ValueOf(value), 0)
	} else {
		text = append(text, "<nil>"...)
	}
	if len(text) > 80 { text = append(text[:77], "..."...) }
	for i := 0; i + 5 <= len(kind); i++ {
		if kind[i:i+5] == "main." { kind = kind[:i] + kind[i+5:] }
	}
	line := sbrfmt.Sprintf("{\"name\": %q, \"type\": %s, \"size\": %d, \"value\": %s}\n", name, sbrJSON(kind), size, sbrJSON(string(text)))
	sbrsyscall.Write(7, []byte(line))
}
func sbrText(to *[]byte, v sbrreflect.Value, depth int) {
	if len(*to) > 80 || depth > 8 { *to = append(*to, "..."...); return }
	switch v.Kind() {
	case sbrreflect.Bool: *to = append(*to, sbrfmt.Sprint(v.Bool())...)
	case sbrreflect.Int, sbrreflect.Int8, sbrreflect.Int16, sbrreflect.Int32, sbrreflect.Int64: *to = append(*to, sbrfmt.Sprint(v.Int())...)
	case sbrreflect.Uint, sbrreflect.Uint8, sbrreflect.Uint16, sbrreflect.Uint32, sbrreflect.Uint64, sbrreflect.Uintptr: *to = append(*to, sbrfmt.Sprint(v.Uint())...)
	case sbrreflect.Float32, sbrreflect.Float64: *to = append(*to, sbrfmt.Sprint(v.Float())...)
	case sbrreflect.Complex64, sbrreflect.Complex128: *to = append(*to, sbrfmt.Sprint(v.Complex())...)
	case sbrreflect.String:
		text := v.String()
		if len(text) > 80 { text = text[:80] }
		*to = append(*to, sbrfmt.Sprintf("%q", text)...)
	case sbrreflect.Slice, sbrreflect.Array:
		*to = append(*to, '[')
		for i := 0; i < v.Len() && len(*to) <= 80; i++ {
			if i > 0 { *to = append(*to, ' ') }
			sbrText(to, v.Index(i), depth + 1)
		}
		*to = append(*to, ']')
	case sbrreflect.Map: sbrMap(to, v, depth)
	case sbrreflect.Struct:
		*to = append(*to, '{')
		for i := 0; i < v.NumField() && len(*to) <= 80; i++ {
			if i > 0 { *to = append(*to, ' ') }
			*to = append(*to, v.Type().Field(i).Name + ":"...)
			sbrText(to, v.Field(i), depth + 1)
		}
		*to = append(*to, '}')
	case sbrreflect.Pointer, sbrreflect.Interface:
		if v.IsNil() { *to = append(*to, "<nil>"...); return }
		if v.Kind() == sbrreflect.Pointer { *to = append(*to, '&') }
		sbrText(to, v.Elem(), depth + 1)
	default: *to = append(*to, v.Type().String()...)
	}
}
func sbrMap(to *[]byte, v sbrreflect.Value, depth int) {
	parts := []string{}
	for all := v.MapRange(); len(parts) < 20 && all.Next(); {
		part := []byte{}
		sbrText(&part, all.Key(), depth + 1)
		part = append(part, ':')
		sbrText(&part, all.Value(), depth + 1)
		parts = append(parts, string(part))
		for i := len(parts) - 1; i > 0 && parts[i] < parts[i-1]; i-- { parts[i], parts[i-1] = parts[i-1], parts[i] }
	}
	*to = append(*to, "map["...)
	for i, part := range parts {
		if i > 0 { *to = append(*to, ' ') }
		*to = append(*to, part...)
	}
	*to = append(*to, ']')
}
END
}

# The line of a message says which variable it is about.
go_notes() {
    local i
    for i in "${!variables[@]}"; do
        [[ ${hidden[${variables[i]}]-} ]] || printf '//line sbr-names:%d\nsbrNote("%s", %s)\n' "$((i + 1))" "${variables[i]}" "${variables[i]}"
    done
}

# A type without Debug has a note without a value: the method of the more exact trait is found first.
rust_notes_prelude() {
    cat <<'END'
mod sbr_names {
    use std::fmt::Write;
    pub struct Short(String);
    impl Write for Short { fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() { if self.0.len() > 80 { return Err(std::fmt::Error); } self.0.push(c); } Ok(()) } }
    pub struct Seen<'a, T: ?Sized>(pub &'a T);
    pub trait ByDebug { fn sbr_text(&self) -> String; }
    impl<'a, T: std::fmt::Debug + ?Sized> ByDebug for &Seen<'a, T> { fn sbr_text(&self) -> String {
        let mut short = Short(String::new());
        if write!(short, "{:?}", self.0).is_err() { while short.0.len() > 77 { short.0.pop(); } short.0.push_str("..."); }
        short.0 } }
    pub trait ByName { fn sbr_text(&self) -> String; }
    impl<'a, T: ?Sized> ByName for Seen<'a, T> { fn sbr_text(&self) -> String { String::from("(cannot be shown)") } }
    pub fn note<T: ?Sized>(name: &str, value: &T, text: String) {
        let kind = std::any::type_name::<T>().replace("main::", "").replace("alloc::string::", "").replace("alloc::vec::", "");
        let size = std::mem::size_of_val(value);
        super::sbr::put(7, &format!("{{\"name\": \"{}\", \"type\": \"{}\", \"size\": {}, \"value\": \"{}\"}}\n", name,
            super::sbr::escaped(&kind), size, super::sbr::escaped(&text)));
    }
}
END
}

# The last one first: what borrows is declared after what is borrowed, and is not used any more then.
rust_notes() {
    local i name
    for ((i = ${#variables[@]} - 1; i >= 0; i--)); do
        name=${variables[i]}
        [[ ${hidden[$name]-} ]] || # no macro, because messages would show its lines and not this one
            printf '{ use sbr_names::{ByDebug as _, ByName as _}; sbr_names::note("%s", &%s, (&&sbr_names::Seen(&%s)).sbr_text()); }\n' \
                "$name" "$name" "$name"
    done
}

# Messages show the lines that they are about.  True: some notes are left out the next time.
rust_excuses() {
    local found=1 name
    sed -n 's/.*sbr_names::note("\([A-Za-z_0-9]*\)".*/\1/p' "$folder/messages" >"$folder/refused"
    while IFS= read -r name; do
        [[ ${hidden[$name]-} ]] || found=0
        hidden[$name]=1
    done <"$folder/refused"
    return "$found"
}

# Declared once more, a variable has a note again.
add_variables() { # NAME...
    local name old kept
    for name; do
        kept=()
        for old in "${variables[@]}"; do
            [[ $old == "$name" ]] || kept+=("$old")
        done
        variables=("${kept[@]}" "$name")
        unset "hidden[$name]"
    done
}

answer_vars() { # NUMBER
    local line all=''
    [[ ! -e $folder/vars ]] || while IFS= read -r line; do
        [[ $language == rust ]] && all=$line${all:+, }$all || all+=${all:+, }$line
    done <"$folder/vars"
    send answer "$1" ok "{\"vars\": [$all]}"
}

go_words='break case chan const continue default defer else fallthrough for func go goto if import interface map package
    range return select struct switch type var any append bool byte cap clear close complex complex128 complex64 copy delete
    error false float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println real
    recover rune string true uint uint16 uint32 uint64 uint8 uintptr'
rust_words='as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move
    mut pub ref return self static struct super trait true type union unsafe use where while Box Err None Ok Option Result
    Some String Vec assert! assert_eq! bool char dbg! drop eprintln! f32 f64 format! i128 i16 i32 i64 i8 isize matches!
    panic! print! println! str todo! u128 u16 u32 u64 u8 unreachable! usize vec! write! writeln!'

# Import paths of the program, each behind the name that it is used by.
go_packages() {
    local item line
    for item in "${items[@]}"; do
        [[ ${key_of[$item]} != import* ]] || while IFS= read -r line; do
            line=${line%%//*}
            line=${line#import}
            [[ $line =~ (([A-Za-z_][A-Za-z_0-9]*)[[:space:]]+)?\"([^\"]+)\" ]] || continue
            printf '%s %s\n' "${BASH_REMATCH[2]:-${BASH_REMATCH[3]##*/}}" "${BASH_REMATCH[3]}"
        done <"$folder/$item"
    done
}

# What a package of the standard library exports, from its sources.
go_members() { # NAME
    local name path root
    root=$("$compiler" env GOROOT 2>/dev/null)
    while read -r name path; do
        [[ $name == "$1" && -d $root/src/$path ]] || continue
        find "$root/src/$path" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec cat {} + |
            awk '/^(const|var|type) \(/ { group = 1; next } /^\)/ { group = 0 }
                group && match($0, /^\t[A-Z][A-Za-z_0-9]*/) { print substr($0, 2, RLENGTH - 1) }
                match($0, /^(func|type|const|var) [A-Z][A-Za-z_0-9]*/) { split(substr($0, 1, RLENGTH), w, " "); print w[2] }'
    done < <(go_packages)
}

# Names that the program declares: of items and variables, and those that it imports.
declared_names() {
    local item
    printf '%s\n' "${variables[@]}"
    for item in "${items[@]}"; do
        case ${key_of[$item]} in
        name\ *) printf '%s\n' "${key_of[$item]#name }" ;;
        macro\ *) printf '%s!\n' "${key_of[$item]##*[! A-Za-z_0-9]}" | tr -d ' ' ;;
        group\ *) sed -n 's/^[[:space:]]*\([A-Za-z_][A-Za-z_0-9]*\).*/\1/p' "$folder/$item" | grep -vxE 'const|var|type' ;;
        use\ *) tr -cs 'A-Za-z_0-9\n' '\n' <"$folder/$item" | grep -vxE 'use|pub|crate|self|super|extern|as|std|' ;;
        esac
    done
    [[ $language != go ]] || go_packages | cut -d ' ' -f 1
}

answer_complete() { # NUMBER CURSOR
    local LC_ALL=C head word name matches=''
    head=${code:0:$2}
    word=${head##*[!A-Za-z_0-9]}
    head=${head%"$word"}
    if [[ $language == go && $head =~ (^|[^A-Za-z_0-9.])([A-Za-z_][A-Za-z_0-9]*)\.$ ]]; then
        go_members "${BASH_REMATCH[2]}"
    elif [[ ! $word || $head == *. || $head == *:: ]]; then
        :
    elif [[ $language == go ]]; then
        declared_names
        tr -s ' ' '\n' <<<"$go_words"
    else
        declared_names
        tr -s ' ' '\n' <<<"$rust_words"
    fi >"$folder/names"
    while IFS= read -r name; do
        [[ ! $name || $name != "$word"* ]] || matches+=${matches:+, }\"$name\"
    done < <(sort -u "$folder/names" | head -n 500)
    send answer "$1" ok "{\"matches\": [$matches], \"start\": $(($2 - ${#word}))}"
}
