-- Ends in the way that its argument names.
local function inner(values)
    return values.missing.field
end

local function outer()
    local result = inner({ present = 1 })
    return result
end

io.stdout:setvbuf("no")
local how = arg[1]
if how == "exit" then
    print("leaving")
    io.stderr:write("complaint\n")
    os.exit(7)
elseif how == "error" then
    print("before")
    outer()
elseif how == "loop" then
    print("started")
    while true do end
elseif how == "memory" then
    print("started")
    local kept = {}
    while true do
        kept[#kept + 1] = ("x"):rep(4 << 20) .. #kept
    end
elseif how == "flood" then
    while true do
        print(("x"):rep(99))
    end
end
