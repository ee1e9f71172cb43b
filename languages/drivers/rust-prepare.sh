#!/bin/sh
# rust-prepare.sh RUSTC DIRECTORY: arguments in DIRECTORY/link with which rustc calls its own lld
# instead of the C compiler: two or three processes less.
#
# Takes what the C compiler adds to the linker's command from the compiler, once.  A program that
# unwinds its stack must work with it; otherwise the file is removed, and rustc links as usual.
rustc=$1
directory=$2
scratch=${TMPDIR:-/tmp}

for linker in "${rustc%/bin/rustc}"/lib/rustlib/*-linux-*/bin/rust-lld; do :; done
[ -x "$linker" ] || exit 0
cc -pie '-###' /dev/null 2>&1 | grep collect2 | tr ' ' '\n' | tr -d '"' > "$scratch/words"
{
    echo "-Clinker=$linker"
    echo "-Clinker-flavor=ld.lld"
    echo "-Clink-self-contained=no"
    sed -n '/^-dynamic-linker$/{n;s/^/-Clink-arg=--dynamic-linker=/p;}; s/^-L/-Clink-arg=&/p; s/^.*crt[^/]*\.o$/-Clink-arg=&/p' \
        "$scratch/words"
    echo "-Clink-arg=-lc"
} > "$directory/link"

cat > "$scratch/trial.rs" << 'END'
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let caught = std::panic::catch_unwind(|| vec![1][std::env::args().count()]).is_err();
    let thread = std::thread::spawn(|| "works".to_string()).join().unwrap();
    println!("{} {}", thread, caught);
}
END
library=${linker%/bin/rust-lld}/lib
if ! "$rustc" --edition 2021 -Cprefer-dynamic "-Clink-arg=-rpath=$library" "@$directory/link" -o "$scratch/trial" \
    "$scratch/trial.rs" > "$scratch/messages" 2>&1 || [ "$("$scratch/trial")" != "works true" ]; then
    rm "$directory/link"
fi
