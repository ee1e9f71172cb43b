pub const NAME: &str = "circle";
