package org.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.example.shapes.Circle;
import org.example.shapes.Rectangle;

public class Main {
    public static void main(String[] args) throws IOException {
        System.out.println(Circle.NAME + " " + new Rectangle(2, 3).area() + " "
                + Files.readString(Path.of("data/words.txt")).trim());
    }
}
