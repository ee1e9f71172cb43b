name = "circle"
