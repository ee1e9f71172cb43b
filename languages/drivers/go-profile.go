package main

// A file of the program in a profiled run: the runtime's own samples of CPU time become the file
// that SANDBOX_RUN_SAMPLES names, again and again, so that they survive every end of the program.
// A line is a stack, outermost function first, and its microseconds: FRAME;FRAME;FRAME 1234.

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	sandboxRunRate     = 250 // samples a second; the kernel's tick bounds it
	sandboxRunLongest  = 20 * time.Millisecond
	sandboxRunMost     = 20000 // stacks
	sandboxRunOwn      = "main.sandboxRun"
	sandboxRunVariable = "SANDBOX_RUN_SAMPLES"
)

//go:linkname sandboxRunRead runtime/pprof.readProfile
func sandboxRunRead() ([]uint64, []unsafe.Pointer, bool)

//go:linkname sandboxRunStartLine runtime/pprof.runtime_FrameStartLine
func sandboxRunStartLine(frame *runtime.Frame) int

type sandboxRunSeen struct {
	text string // empty: the stack is ours and does not count
	n    uint64
}

type sandboxRunSamples struct {
	path   string
	stacks map[string]*sandboxRunSeen // by their addresses
	n      uint64
	begun  bool // the first record, which is about the rest, was read
}

func init() {
	path := os.Getenv(sandboxRunVariable)
	if path == "" {
		return
	}
	os.Unsetenv(sandboxRunVariable)
	samples := &sandboxRunSamples{path: path, stacks: map[string]*sandboxRunSeen{}}
	samples.write()
	runtime.SetCPUProfileRate(sandboxRunRate)
	go samples.sandboxRunCollect()
}

// To read waits while there is nothing, so each time the thread samples itself first.
func (s *sandboxRunSamples) sandboxRunCollect() {
	runtime.LockOSThread()
	for over := false; !over; {
		begun := time.Now()
		syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGPROF))
		var data []uint64
		data, _, over = sandboxRunRead()
		s.add(data)
		s.write()
		time.Sleep(max(5*time.Millisecond, 20*time.Since(begun)))
	}
}

// A record: its length in words, the time, how often, the addresses.
func (s *sandboxRunSamples) add(data []uint64) {
	for len(data) >= 3 && data[0] >= 3 && data[0] <= uint64(len(data)) {
		record := data[:data[0]]
		data = data[data[0]:]
		if !s.begun {
			s.begun = true
			continue
		}
		if record[2] == 0 || len(record) == 3 { // samples were lost
			continue
		}
		key := unsafe.String((*byte)(unsafe.Pointer(&record[3])), 8*(len(record)-3))
		seen := s.stacks[key]
		if seen == nil && len(s.stacks) < sandboxRunMost {
			key = strings.Clone(key)
			seen = &sandboxRunSeen{text: sandboxRunStack(record[3:])}
			s.stacks[key] = seen
		}
		if seen != nil && seen.text != "" {
			seen.n += record[2]
			s.n += record[2]
		}
	}
}

func sandboxRunName(frame *runtime.Frame) string {
	name := strings.NewReplacer(";", ",", "\n", " ", "\r", " ").Replace(frame.Function)
	if frame.File == "" {
		return name
	}
	return name + " (" + frame.File + ":" + strconv.Itoa(sandboxRunStartLine(frame)) + ")"
}

// Empty when the stack is ours.
func sandboxRunStack(record []uint64) string {
	addresses := make([]uintptr, len(record))
	for i, address := range record {
		addresses[i] = uintptr(address)
	}
	frames := runtime.CallersFrames(addresses)
	text := ""
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if strings.HasPrefix(frame.Function, sandboxRunOwn) || strings.HasPrefix(frame.Function, "main.(*sandboxRun") {
			return ""
		}
		switch frame.Function { // what starts a goroutine, and what takes it from its thread
		case "", "runtime.main", "runtime.goexit", "runtime.asyncPreempt":
			continue
		}
		if text != "" {
			text = ";" + text
		}
		text = sandboxRunName(&frame) + text
	}
	return text
}

func sandboxRunUsed() time.Duration {
	var own, children syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children)
	return time.Duration(own.Utime.Nano() + own.Stime.Nano() + children.Utime.Nano() + children.Stime.Nano())
}

// Each sample stands for the same part of the CPU time, up to a bound: what is beyond it was not
// sampled, such as that of children.
func (s *sandboxRunSamples) write() {
	used, each := sandboxRunUsed(), time.Duration(0)
	if s.n > 0 {
		each = min(used/time.Duration(s.n), sandboxRunLongest)
	}
	text := strings.Builder{}
	for _, seen := range s.stacks {
		if seen.n > 0 {
			text.WriteString(seen.text + " " + strconv.FormatInt((each*time.Duration(seen.n)).Microseconds(), 10) + "\n")
		}
	}
	if rest := used - each*time.Duration(s.n); rest > 20*time.Millisecond+used/50 {
		text.WriteString("(not sampled) " + strconv.FormatInt(rest.Microseconds(), 10) + "\n")
	}
	if os.WriteFile(s.path+".new", []byte(text.String()), 0600) == nil {
		os.Rename(s.path+".new", s.path)
	}
}
