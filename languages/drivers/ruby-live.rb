# Every line is written when it is printed: see docs/buffering.md.
$stdout.sync = true
