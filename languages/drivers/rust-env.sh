#!/bin/sh
# What cargo goes by, the same when dependencies are made and when the program is: otherwise it makes them again.
RUSTC=$rustc
RUSTC_WRAPPER=
CARGO_PROFILE_DEV_DEBUG=0
CARGO_INCREMENTAL=0
CARGO_TERM_COLOR=never
CARGO_TERM_PROGRESS_WHEN=never
export RUSTC RUSTC_WRAPPER CARGO_PROFILE_DEV_DEBUG CARGO_INCREMENTAL CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN
