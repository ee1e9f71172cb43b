#!/bin/sh
# rust-profile.sh RUSTC ARGUMENT...: what cargo calls for the crates of the project, in a profiled
# run: debug information for all of them, and sampler.o in programs.
case " $* " in
*" --crate-type bin "*) set -- "$@" -Clink-arg="$PROFILE/sampler.o" -Clink-arg=-lgcc_s ;;
esac
exec "$@" -Cdebuginfo=1
