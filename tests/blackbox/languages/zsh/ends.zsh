# Ends in the way that its argument names.
case $1 in
exit)
    echo leaving
    echo complaint >&2
    exit 7
    ;;
error)
    echo before
    no_such_command value
    ;;
loop)
    echo started
    while :; do :; done
    ;;
memory)
    echo started
    kept=x
    while :; do kept+=$kept; done
    ;;
flood)
    while :; do printf '%099d\n' 0; done
    ;;
esac
