join() { local IFS=+; echo "$*"; }
