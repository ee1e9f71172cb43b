. ./part.sh
# shellcheck disable=SC2046 # words are wanted
join $(cat words.txt)
