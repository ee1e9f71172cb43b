fn main() {
    let grüße = [("日本", "Nihon"), ("🦀", "Krebs"), ("e\u{301}", "combining")];
    for (wort, sinn) in grüße {
        println!("{wort} {} {sinn}", wort.chars().count());
    }
    let mut zeile = String::new();
    std::io::stdin().read_line(&mut zeile).unwrap();
    println!("{} {}", zeile.trim().chars().rev().collect::<String>(), "ß".to_uppercase());
}
