// A walk through the standard library; every line of its output is known.
package main

import (
	"bytes"
	"compress/gzip"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/bits"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"
	"time"
	"unicode/utf8"
)

type shape interface{ area() float64 }
type square struct{ side float64 }

func (s square) area() float64  { return s.side * s.side }
func (s square) String() string { return fmt.Sprintf("square(%g)", s.side) }

type queue []int

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i] < q[j] }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(int)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

type number interface{ ~int | ~float64 }

func mapped[T, U any](in []T, f func(T) U) (out []U) {
	for _, value := range in {
		out = append(out, f(value))
	}
	return
}

func sum[T number](values ...T) (total T) {
	for _, value := range values {
		total += value
	}
	return
}

var errGone = errors.New("gone")

func failing() (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("recovered %v: %w", caught, errGone)
		}
	}()
	var values []int
	return fmt.Errorf("%d", values[3])
}

func main() {
	counts := map[string]int{}
	for _, word := range strings.Fields("the quick brown fox jumps over the lazy dog the end") {
		counts[word]++
	}
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	sort.Slice(words, func(i, j int) bool {
		return counts[words[i]] > counts[words[j]] || counts[words[i]] == counts[words[j]] && words[i] < words[j]
	})
	fmt.Println(words[:3], counts["the"], len(counts))
	fmt.Println(map[string]int{"z": 1, "a": 2}, mapped([]int{1, 2, 3}, strconv.Itoa), sum(1.5, 2.0))
	var s shape = square{3}
	fmt.Printf("%v %T %.2f %q %x %08b %v\n", s, s, s.area(), "q", "hex", 5, []any{nil, true, 'a'})
	q := &queue{5, 2, 8}
	heap.Init(q)
	heap.Push(q, 1)
	fmt.Println(heap.Pop(q), heap.Pop(q), q.Len())
	moment := time.Date(2024, 2, 28, 23, 0, 0, 0, time.UTC).Add(25 * time.Hour)
	fmt.Println(moment.Format(time.RFC3339), moment.Weekday(), moment.YearDay())
	text, _ := json.Marshal(struct {
		Name string `json:"name"`
		Tags []int  `json:"tags,omitempty"`
		Any  any    `json:"any"`
	}{"ü", nil, map[string]any{"b": 1, "a": []int{1}}})
	fmt.Println(string(text))
	fmt.Println(regexp.MustCompile(`(\w+)@(\w+)`).ReplaceAllString("user@host", "$2 at $1"))
	fmt.Printf("%x %s\n", sha256.Sum256([]byte("abc")), base64.StdEncoding.EncodeToString([]byte("abc")))
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	io.WriteString(zip, "squeezed")
	zip.Close()
	unzip, _ := gzip.NewReader(&packed)
	plain, _ := io.ReadAll(unzip)
	fmt.Println(string(plain), binary.BigEndian.Uint32([]byte{0, 0, 1, 2}), bits.OnesCount(255))
	fmt.Println(new(big.Int).Exp(big.NewInt(2), big.NewInt(100), nil), utf8.RuneCountInString("日本"))
	address, _ := url.Parse("https://user@example.com:8080/p?q=1&r=a+b")
	fmt.Println(address.Port(), address.Query()["r"], address.User)
	template.Must(template.New("t").Parse("{{range $i, $w := .}}{{if $i}}, {{end}}{{$w | printf \"%q\"}}{{end}}\n")).Execute(os.Stdout, []string{"a", "b"})

	var group sync.WaitGroup
	var total int64
	results := make(chan int, 10)
	for i := 1; i <= 10; i++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			atomic.AddInt64(&total, int64(n))
			results <- n * n
		}(i)
	}
	group.Wait()
	close(results)
	squares := 0
	for value := range results {
		squares += value
	}
	fmt.Println(total, squares)
	limit, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	select {
	case <-limit.Done():
		fmt.Println(limit.Err())
	case <-time.After(5 * time.Second):
		fmt.Println("too late")
	}
	err := failing()
	fmt.Println(err, errors.Is(err, errGone))
	out, err := exec.Command("echo", "child").Output()
	fmt.Print(string(out))
	fmt.Println(err, runtime.GOOS)
}
