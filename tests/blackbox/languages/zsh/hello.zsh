echo "Hello, world"
