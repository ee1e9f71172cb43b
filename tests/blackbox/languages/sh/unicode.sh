for wort in 日本:Nihon 🦀:Krebs; do
    echo "${wort%%:*} $(printf %s "${wort%%:*}" | wc -m) ${wort#*:}"
done
kombiniert=$(printf 'e\314\201')
echo "$kombiniert $(printf %s "$kombiniert" | wc -m) combining"
read -r zeile
printf %s "$zeile" | grep -o . | tac | tr -d '\n'
echo " Ö"
