fn main() {
    println!("{}", itoa::Buffer::new().format(u64::MAX));
}
