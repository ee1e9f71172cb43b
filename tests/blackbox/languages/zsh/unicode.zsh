typeset -A namen=(日本 Nihon 🦀 Krebs)
for wort in 日本 🦀; do echo "$wort ${#wort} ${namen[$wort]}"; done
kombiniert=$'e\u0301'
echo "$kombiniert ${#kombiniert} combining"
read -r zeile
echo "${(j::)${(Oas::)zeile}} Ö ${(U)zeile}"
