source ./part.zsh
read -r -A words <words.txt
join "${words[@]}"
