// Writes, appends, reads, renames, lists and removes in the work directory.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	os.Mkdir("notes", 0o755)
	one, two := filepath.Join("notes", "one.txt"), filepath.Join("notes", "two.txt")
	os.WriteFile(one, []byte("alpha\nbeta\n"), 0o644)
	file := must(os.OpenFile(one, os.O_APPEND|os.O_WRONLY, 0))
	must(file.WriteString("gamma\n"))
	file.Close()
	lines := strings.Fields(string(must(os.ReadFile(one))))
	fmt.Println(len(lines), strings.Join(lines, ","))

	raw := make([]byte, 256)
	for i := range raw {
		raw[i] = byte(i)
	}
	os.WriteFile("raw.bin", raw, 0o600)
	sum := 0
	for _, value := range must(os.ReadFile("raw.bin")) {
		sum += int(value)
	}
	fmt.Println(must(os.Stat("raw.bin")).Size(), sum)

	os.Rename(one, two)
	for _, entry := range must(os.ReadDir("notes")) {
		fmt.Println(entry.Name())
	}
	os.Remove(two)
	fmt.Println(len(must(os.ReadDir("notes"))))

	scratch := must(os.CreateTemp("", "x-*"))
	scratch.WriteString("scratch")
	fmt.Println(string(must(os.ReadFile(scratch.Name()))))
}
