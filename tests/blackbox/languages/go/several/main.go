package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	text, _ := os.ReadFile("words.txt")
	fmt.Println(join(strings.Fields(string(text))))
}
