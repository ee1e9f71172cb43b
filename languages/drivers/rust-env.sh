#!/bin/sh
# What cargo goes by, the same when dependencies are made and when the program is: otherwise it makes them again.
RUSTC=${rustc:?}
RUSTC_WRAPPER=
CARGO_PROFILE_DEV_DEBUG=0
CARGO_INCREMENTAL=0
CARGO_TERM_COLOR=never
CARGO_TERM_PROGRESS_WHEN=never
export RUSTC RUSTC_WRAPPER CARGO_PROFILE_DEV_DEBUG CARGO_INCREMENTAL CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN

# Before 1.68 the whole history of the registry's index would be fetched; the way to ask for single crates was there,
# but closed off.
case $("${rustc%rustc}cargo" --version) in
"cargo 1."[0-5]?.* | "cargo 1.6"[0-7].*)
    CARGO_UNSTABLE_SPARSE_REGISTRY=true
    __CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS=nightly
    export CARGO_UNSTABLE_SPARSE_REGISTRY __CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS
    ;;
esac
