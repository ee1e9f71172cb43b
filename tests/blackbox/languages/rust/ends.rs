//! Ends in the way that its argument names.
use std::io::{self, Write};

fn inner(values: &[i32], at: usize) -> i32 {
    values[at]
}

fn outer(how: &str) -> i32 {
    inner(&[1, 2], how.len())
}

fn main() {
    let how = std::env::args().nth(1).unwrap();
    match how.as_str() {
        "exit" => {
            println!("leaving");
            eprintln!("complaint");
            std::process::exit(7);
        }
        "error" => {
            println!("before");
            println!("{}", outer(&how));
        }
        "loop" => {
            println!("started");
            loop {
                std::hint::spin_loop();
            }
        }
        "memory" => {
            println!("started");
            let mut kept = Vec::new();
            loop {
                kept.push(vec![b'x'; 4 << 20]);
            }
        }
        _ => loop {
            writeln!(io::stdout(), "{}", "x".repeat(99)).unwrap();
        },
    }
}
