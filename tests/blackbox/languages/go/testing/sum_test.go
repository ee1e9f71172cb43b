package sum

import "testing"

func TestOf(t *testing.T) {
	if got := Of(1, 2, 3); got != 6 {
		t.Fatalf("got %d", got)
	}
}

func TestNone(t *testing.T) {
	if Of() != 0 {
		t.Fatal("not nothing")
	}
}
