declare -A namen=([日本]=Nihon [🦀]=Krebs)
for wort in 日本 🦀; do echo "$wort ${#wort} ${namen[$wort]}"; done
kombiniert=$'e\u0301'
echo "$kombiniert ${#kombiniert} combining"
read -r zeile
for ((i = ${#zeile} - 1; i >= 0; i--)); do printf '%s' "${zeile:i:1}"; done
echo " Ö ${zeile^^}"
