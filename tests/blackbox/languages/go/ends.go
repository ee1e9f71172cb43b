// Ends in the way that its argument names.
package main

import (
	"fmt"
	"os"
	"strings"
)

func inner(values []int, at int) int {
	return values[at]
}

func outer() int {
	return inner([]int{1, 2}, len(os.Args)+5)
}

func main() {
	switch os.Args[1] {
	case "exit":
		fmt.Println("leaving")
		fmt.Fprintln(os.Stderr, "complaint")
		os.Exit(7)
	case "error":
		fmt.Println("before")
		fmt.Println(outer())
	case "loop":
		fmt.Println("started")
		for {
		}
	case "memory":
		fmt.Println("started")
		var kept [][]byte
		for {
			block := make([]byte, 4<<20)
			for i := range block {
				block[i] = 'x'
			}
			kept = append(kept, block)
		}
	case "flood":
		for {
			fmt.Println(strings.Repeat("x", 99))
		}
	}
}
