class Part {
    static String join(String... words) {
        return String.join("+", words);
    }
}
