//! Writes, appends, reads, renames, lists and removes in the work directory.
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

fn main() -> io::Result<()> {
    let notes = Path::new("notes");
    fs::create_dir(notes)?;
    let (one, two) = (notes.join("one.txt"), notes.join("two.txt"));
    fs::write(&one, "alpha\nbeta\n")?;
    OpenOptions::new().append(true).open(&one)?.write_all(b"gamma\n")?;
    let text = fs::read_to_string(&one)?;
    let lines: Vec<&str> = text.lines().collect();
    println!("{} {}", lines.len(), lines.join(","));

    fs::write("raw.bin", (0..=255u8).collect::<Vec<_>>())?;
    let sum: u32 = fs::read("raw.bin")?.into_iter().map(u32::from).sum();
    println!("{} {}", fs::metadata("raw.bin")?.len(), sum);

    fs::rename(&one, &two)?;
    for entry in fs::read_dir(notes)? {
        println!("{}", entry?.file_name().to_string_lossy());
    }
    fs::remove_file(&two)?;
    println!("{}", fs::read_dir(notes)?.count());

    let scratch = std::env::temp_dir().join("scratch-file");
    fs::write(&scratch, "scratch")?;
    println!("{}", fs::read_to_string(&scratch)?);
    Ok(())
}
