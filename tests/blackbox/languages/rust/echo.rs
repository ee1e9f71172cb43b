//! Says what it was given: arguments, one variable, stdin line by line.
use std::env;
use std::io::{self, BufRead};

fn main() {
    let words: Vec<String> = env::args().skip(1).map(|word| format!("[{word}]")).collect();
    println!("args: {}", words.concat());
    println!("GREETING: {}", env::var("GREETING").unwrap_or_else(|_| "unset".into()));
    for (number, line) in io::stdin().lock().lines().enumerate() {
        println!("{}: {}", number + 1, line.expect("stdin is text"));
    }
}
