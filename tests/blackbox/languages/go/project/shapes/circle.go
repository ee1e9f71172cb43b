package shapes

// Name of the one shape.
const Name = "circle"
