#!/bin/sh
# Cargo's settings, the same for dependencies and for the program: otherwise cargo builds the
# dependencies again.
RUSTC=${rustc:?}
RUSTC_WRAPPER=
if [ -z "${PROJECT-}" ]; then # tests may look at places in traces
    CARGO_PROFILE_DEV_DEBUG=0
    export CARGO_PROFILE_DEV_DEBUG
fi
CARGO_INCREMENTAL=0
CARGO_TERM_COLOR=never
CARGO_TERM_PROGRESS_WHEN=never
export RUSTC RUSTC_WRAPPER CARGO_INCREMENTAL CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN

# Before 1.68 cargo would fetch the whole history of the registry's index; fetching single crates
# existed, but only as an unstable feature.
case $("${rustc%rustc}cargo" --version) in
"cargo 1."[0-5]?.* | "cargo 1.6"[0-7].*)
    CARGO_UNSTABLE_SPARSE_REGISTRY=true
    __CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS=nightly
    export CARGO_UNSTABLE_SPARSE_REGISTRY __CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS
    ;;
esac
