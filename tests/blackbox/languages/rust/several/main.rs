mod part;

fn main() {
    let text = std::fs::read_to_string("words.txt").unwrap();
    println!("{}", part::join(text.split_whitespace()));
}
