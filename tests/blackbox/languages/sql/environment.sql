.shell echo "GREETING: ${GREETING-unset}"
