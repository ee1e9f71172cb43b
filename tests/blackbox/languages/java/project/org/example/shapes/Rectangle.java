package org.example.shapes;

public record Rectangle(int width, int height) {
    public int area() {
        return width * height;
    }
}
