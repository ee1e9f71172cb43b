//! Tries to read the files that it is given, then to connect to the port that comes last.
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

fn main() {
    let mut paths: Vec<String> = std::env::args().skip(1).collect();
    let port: u16 = paths.pop().unwrap().parse().unwrap();
    for path in paths {
        match std::fs::read(&path) {
            Ok(data) => println!("read {}", data.len()),
            Err(_) => println!("refused"),
        }
    }
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    match TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
        Ok(_) => println!("connected"),
        Err(_) => println!("no connection"),
    }
}
