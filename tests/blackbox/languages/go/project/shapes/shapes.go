// Package shapes measures.
package shapes

// Area of a rectangle.
func Area(width, height int) int { return width * height }
