package org.example.shapes;

public final class Circle {
    public static final String NAME = "circle";

    private Circle() {}
}
