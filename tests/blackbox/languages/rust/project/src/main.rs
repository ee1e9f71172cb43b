mod shapes;

const WORDS: &str = include_str!("../data/words.txt");

fn main() {
    println!("{} {} {}", shapes::circle::NAME, shapes::area(2, 3), WORDS.trim());
}
