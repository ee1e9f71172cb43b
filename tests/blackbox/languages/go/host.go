// Tries to read the files that it is given, then to connect to the port that comes last.
package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

func main() {
	last := len(os.Args) - 1
	for _, path := range os.Args[1:last] {
		if data, err := os.ReadFile(path); err != nil {
			fmt.Println("refused")
		} else {
			fmt.Println("read", len(data))
		}
	}
	if _, err := net.DialTimeout("tcp", "127.0.0.1:"+os.Args[last], 5*time.Second); err != nil {
		fmt.Println("no connection")
	} else {
		fmt.Println("connected")
	}
}
