local shapes = { name = "circle" }

function shapes.area(width, height)
    return width * height
end

return shapes
