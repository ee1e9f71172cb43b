package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

func main() {
	grüße := []struct{ wort, sinn string }{{"日本", "Nihon"}, {"🦀", "Krebs"}, {"e\u0301", "combining"}}
	for _, gruß := range grüße {
		fmt.Println(gruß.wort, utf8.RuneCountInString(gruß.wort), gruß.sinn)
	}
	zeile, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	zeichen := []rune(strings.TrimSpace(zeile))
	for i, j := 0, len(zeichen)-1; i < j; i, j = i+1, j-1 {
		zeichen[i], zeichen[j] = zeichen[j], zeichen[i]
	}
	fmt.Println(string(zeichen), strings.ToUpper("äß"))
}
