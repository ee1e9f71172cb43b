-- Writes, appends, reads, renames and removes in the work directory.  Lua cannot make or list folders itself.
local function write(path, mode, text)
    local file <close> = assert(io.open(path, mode))
    file:write(text)
end

assert(os.execute("mkdir notes"))
write("notes/one.txt", "w", "alpha\nbeta\n")
write("notes/one.txt", "a", "gamma\n")
local lines = {}
for line in io.lines("notes/one.txt") do
    lines[#lines + 1] = line
end
print(#lines .. " " .. table.concat(lines, ","))

local bytes = {}
for i = 0, 255 do
    bytes[#bytes + 1] = string.char(i)
end
write("raw.bin", "wb", table.concat(bytes))
local sum = 0
local raw = io.open("raw.bin", "rb")
for byte in raw:read("a"):gmatch("(.)") do
    sum = sum + byte:byte()
end
print(raw:seek("end") .. " " .. sum)

os.rename("notes/one.txt", "notes/two.txt")
io.write(io.popen("ls notes"):read("a"))
os.remove("notes/two.txt")
print(#io.popen("ls notes"):read("a"))

local scratch = os.tmpname()
write(scratch, "w", "scratch")
print(io.open(scratch):read("a"))
