source ./part.bash
read -r -a words <words.txt
join "${words[@]}"
