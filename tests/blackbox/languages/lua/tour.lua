-- A walk through the language and its library; every line of its output is known.
local counts, order = {}, {}
for word in ("the quick brown fox jumps over the lazy dog the end"):gmatch("%a+") do
    if not counts[word] then
        order[#order + 1] = word
    end
    counts[word] = (counts[word] or 0) + 1
end
table.sort(order, function(a, b)
    if counts[a] ~= counts[b] then
        return counts[a] > counts[b]
    end
    return a < b
end)
print(order[1], counts[order[1]], #order, table.concat(order, ",", 2, 4))

local Point = {}
Point.__index = Point
Point.__add = function(a, b) return Point.new(a.x + b.x, a.y + b.y) end
Point.__eq = function(a, b) return a.x == b.x and a.y == b.y end
Point.__lt = function(a, b) return a.x < b.x end
Point.__tostring = function(p) return ("(%d, %d)"):format(p.x, p.y) end
Point.__call = function(p, k) return p.x * k end
Point.__close = function(p) print("closed " .. tostring(p)) end
function Point.new(x, y) return setmetatable({ x = x, y = y }, Point) end

local sum = Point.new(1, 2) + Point.new(3, 4)
print(tostring(sum), sum == Point.new(4, 6), Point.new(0, 0) < sum, sum(10), rawequal(sum, sum))

local Dog = setmetatable({}, { __index = { speak = function(self) return self.name .. " says " .. self:sound() end } })
Dog.__index = Dog
function Dog:sound() return "woof" end
print(setmetatable({ name = "Rex" }, Dog):speak())

local function fibonacci()
    local a, b = 0, 1
    return coroutine.wrap(function()
        while true do
            coroutine.yield(a)
            a, b = b, a + b
        end
    end)
end
local last
local next_number = fibonacci()
for _ = 1, 91 do last = next_number() end
print(last, math.maxinteger, 7 // 2, -7 % 3, 7 / 2, 2 ^ 10, 0xff, 1e3, 10 | 5, 1 << 40, ~0)

local worker = coroutine.create(function(first)
    local second = coroutine.yield(first * 2)
    error({ code = second })
end)
print(select(2, coroutine.resume(worker, 21)))
local fine, problem = coroutine.resume(worker, 7)
print(fine, problem.code, coroutine.status(worker))

print(("user@host"):gsub("(%w+)@(%w+)", "%2 at %1"))
print(("%5.2f|%-6s|%x|%q|%s"):format(3.14159, "left", 255, "a\nb", nil))
print(("abc"):upper(), ("abc"):rep(2, "-"), ("hello"):sub(-3), ("hello"):find("l"), ("abc"):byte(1, -1))
print(string.unpack("<I4 z", string.pack("<I4 z", 258, "packed")))
print(os.date("!%Y-%m-%dT%H:%M:%SZ", 1709247600), os.time({ year = 2024, month = 3, day = 1, hour = 0 }) - os.time({ year = 2024, month = 2, day = 28, hour = 0 }))
print(utf8.len("日本"), utf8.char(8364), #utf8.char(128512), utf8.codepoint("ü"))
print(table.unpack({ 1, 2, 3 }, 2), select("#", nil, nil), table.pack(1, nil, 3).n)
print(pcall(error, "message"), (select(2, pcall(function() local x = nil; return x.field end)):match("attempt to index.*")))
print(xpcall(function() error("deep", 0) end, function(message) return "handled " .. message end))
local closure = {}
for i = 1, 3 do closure[i] = function() i = i + 1; return i end end
print(closure[1](), closure[1](), closure[2]())
for i = 10, 1, -4 do io.write(i, " ") end
print()
goto done
print("never")
::done::
do
    local point <close> = Point.new(5, 5)
    local fixed <const> = 9
    print(fixed)
end
print(load("local a, b = ... return a * b")(6, 7), type(print), math.type(1), math.type(1.0), tostring(1 / 0), 3 == 3.0)
local weak = setmetatable({}, { __mode = "k" })
weak[{}] = true
collectgarbage()
print(next(weak), _VERSION:match("%a+"), io.popen("echo child"):read("l"))
