package main

import (
	_ "embed"
	"fmt"
	"strings"

	"example.com/project/shapes"
)

//go:embed data/words.txt
var words string

func main() {
	fmt.Println(shapes.Name, shapes.Area(2, 3), strings.TrimSpace(words))
}
