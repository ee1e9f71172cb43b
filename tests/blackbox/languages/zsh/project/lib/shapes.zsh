name=circle
area() { echo $(($1 * $2)); }
