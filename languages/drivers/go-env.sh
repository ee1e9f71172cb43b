#!/bin/sh
# The flags are part of every key in Go's build cache, so they are the same in every call of the go
# command.  GOGC: compiler and linker usually finish before they need to collect.
GOFLAGS="-gcflags=all=-dwarf=false -buildvcs=false"
CGO_ENABLED=0
GO111MODULE=on
GOTOOLCHAIN=local
GOTELEMETRY=off
GOENV=${GOENV:-off}
GOGC=400
export GOFLAGS CGO_ENABLED GO111MODULE GOTOOLCHAIN GOTELEMETRY GOENV GOGC
