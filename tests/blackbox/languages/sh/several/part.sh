join() {
    IFS=+
    echo "$*"
}
