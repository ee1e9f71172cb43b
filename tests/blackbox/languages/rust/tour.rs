//! A walk through the standard library; every line of its output is known.
use std::cell::{Cell, RefCell};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::process::Command;
use std::rc::{Rc, Weak};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

trait Shape {
    fn area(&self) -> f64;
    fn describe(&self) -> String {
        format!("area {:.2}", self.area())
    }
}

struct Square(f64);
struct Circle { radius: f64 }

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        std::f64::consts::PI * self.radius.powi(2)
    }
    fn describe(&self) -> String {
        "round".to_string()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Level { Low = 1, High = 10 }

#[derive(Debug)]
enum ParseError { Unknown(String), Number(std::num::ParseIntError) }

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Unknown(word) => write!(f, "unknown level {word:?}"),
            ParseError::Number(error) => write!(f, "not a number: {error}"),
        }
    }
}

impl Error for ParseError {}

impl From<std::num::ParseIntError> for ParseError {
    fn from(error: std::num::ParseIntError) -> Self {
        ParseError::Number(error)
    }
}

impl FromStr for Level {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.parse::<u8>()? {
            1 => Ok(Level::Low),
            10 => Ok(Level::High),
            _ => Err(ParseError::Unknown(text.to_string())),
        }
    }
}

struct Loud(&'static str);

impl Drop for Loud {
    fn drop(&mut self) {
        println!("dropped {}", self.0);
    }
}

struct Node { name: &'static str, parent: RefCell<Weak<Node>>, children: RefCell<Vec<Rc<Node>>> }

macro_rules! largest {
    ($only:expr) => { $only };
    ($first:expr, $($rest:expr),+) => { std::cmp::max($first, largest!($($rest),+)) };
}

fn fibonacci() -> impl Iterator<Item = u64> {
    std::iter::successors(Some((0, 1)), |&(a, b)| Some((b, a + b))).map(|(a, _)| a)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in "the quick brown fox jumps over the lazy dog the end".split(' ') {
        *counts.entry(word).or_default() += 1;
    }
    let mut ranked: Vec<_> = counts.iter().collect();
    ranked.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    println!("{:?} {}", &ranked[..2], counts.len());
    let tree: BTreeMap<_, _> = [("z", 1), ("a", 2)].into_iter().collect();
    let set: BTreeSet<_> = [3, 1, 2, 3].into();
    println!("{tree:?} {set:?} {}", [1, 2].iter().collect::<HashSet<_>>().len());
    let mut heap = BinaryHeap::from([5, 2, 8]);
    let mut deque = VecDeque::from([1, 2, 3]);
    deque.rotate_left(1);
    println!("{:?} {:?} {}", heap.pop(), deque, largest!(3, 9, 4));
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(3.0)), Box::new(Circle { radius: 1.0 })];
    println!("{}", shapes.iter().map(|s| s.describe()).collect::<Vec<_>>().join(", "));
    println!("{:?} {}", fibonacci().skip(88).step_by(2).take(2).collect::<Vec<_>>(), u128::MAX);
    let (even, odd): (Vec<i32>, Vec<i32>) = (1..=9).partition(|n| n % 2 == 0);
    println!("{even:?} {} {:?}", odd.iter().product::<i32>(), odd.windows(2).map(|w| w[1] - w[0]).max());
    println!("{:>8}|{:<6}|{:^7}|{:+.3e}|{:#010b}|{:#x}", "right", "left", "mid", 12345.678, 5, 255);
    println!("{:?} {:?}", Level::High.max(Level::Low), Level::Low as i32 + 1);
    for text in ["10", "5", "x"] {
        match text.parse::<Level>() {
            Ok(level) if level > Level::Low => println!("ok {level:?}"),
            Ok(level) => println!("low {level:?}"),
            Err(error) => println!("{error}"),
        }
    }
    println!("{:?} {:?}", "a=1;b=2".split(';').filter_map(|p| p.split_once('=')).collect::<Vec<_>>(),
             "Straße".char_indices().nth(5));
    let (mut one, mut two) = (DefaultHasher::new(), DefaultHasher::new());
    ("same", 1).hash(&mut one);
    ("same", 1).hash(&mut two);
    println!("{} {:?} {:?}", one.finish() == two.finish(), 200u8.checked_add(100), i32::MAX.wrapping_add(1));

    let total = Arc::new(Mutex::new(0));
    let hits = AtomicUsize::new(0);
    let shared = RwLock::new(vec![1, 2, 3]);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for n in 1..=8u64 {
            let (total, sender, hits, shared) = (Arc::clone(&total), sender.clone(), &hits, &shared);
            scope.spawn(move || {
                *total.lock().unwrap() += n;
                hits.fetch_add(shared.read().unwrap().len(), Ordering::SeqCst);
                sender.send(n * n).unwrap();
            });
        }
    });
    drop(sender);
    println!("{} {} {}", total.lock().unwrap(), receiver.iter().sum::<u64>(), hits.load(Ordering::SeqCst));
    let began = Instant::now();
    thread::sleep(Duration::from_millis(5));
    println!("{}", began.elapsed() >= Duration::from_millis(5));

    let leaf = Rc::new(Node { name: "leaf", parent: RefCell::new(Weak::new()), children: RefCell::new(vec![]) });
    let root = Rc::new(Node { name: "root", parent: RefCell::new(Weak::new()), children: RefCell::new(vec![Rc::clone(&leaf)]) });
    *leaf.parent.borrow_mut() = Rc::downgrade(&root);
    println!("{:?} {} {}", leaf.parent.borrow().upgrade().map(|p| p.name), Rc::strong_count(&leaf), root.children.borrow().len());
    let cell = Cell::new(1);
    let twice = |f: &dyn Fn()| { f(); f(); };
    twice(&|| cell.set(cell.get() * 3));
    println!("{}", cell.get());
    let caught = thread::spawn(|| "12a".parse::<i32>()).join().unwrap();
    println!("{:?}", caught.map_err(|e| e.to_string()));
    let child = Command::new("echo").arg("child").output()?;
    print!("{}", String::from_utf8(child.stdout)?);
    let _loud = Loud("last");
    drop(Loud("first"));
    Ok(())
}
