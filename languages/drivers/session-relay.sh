# session-relay.sh WORD...: the kernel of a session whose language cannot use a descriptor that it is given.
#
# The channel becomes two pipes with names, in the folder SANDBOX_RUN_KERNEL_PIPES: the kernel reads
# `in` and writes `out`.  Interrupts are for the kernel, which takes the place of this process.
# shellcheck shell=bash
set -u
channel=$SANDBOX_RUN_KERNEL_FD
unset SANDBOX_RUN_KERNEL_FD
SANDBOX_RUN_KERNEL_PIPES=$(mktemp -d "${TMPDIR:-/tmp}/.kernel.XXXXXX") || exit 125
export SANDBOX_RUN_KERNEL_PIPES
mkfifo "$SANDBOX_RUN_KERNEL_PIPES/in" "$SANDBOX_RUN_KERNEL_PIPES/out" || exit 125
trap '' INT
eval "cat <&$channel $channel<&- >\"\$SANDBOX_RUN_KERNEL_PIPES/in\" &"
eval "cat <\"\$SANDBOX_RUN_KERNEL_PIPES/out\" >&$channel $channel>&- &"
eval "exec $channel>&-"
trap - INT
exec "$@"
