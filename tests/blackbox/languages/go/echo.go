// Says what it was given: arguments, one variable, stdin line by line.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	fmt.Print("args: ")
	for _, word := range os.Args[1:] {
		fmt.Printf("[%s]", word)
	}
	fmt.Println()
	greeting, set := os.LookupEnv("GREETING")
	if !set {
		greeting = "unset"
	}
	fmt.Println("GREETING:", greeting)
	input := bufio.NewScanner(os.Stdin)
	for number := 1; input.Scan(); number++ {
		fmt.Printf("%d: %s\n", number, input.Text())
	}
}
