-- session-lua.lua MODULE: the Lua kernel of a session, on the descriptor that SANDBOX_RUN_KERNEL_FD names.
--
-- Cells are chunks of their own, as at Lua's prompt: globals stay, locals end with their cell.
-- MODULE, from src/live/session_lua.c, has the descriptor and turns SIGINT into an error.
local LARGEST_TEXT, SHORT, DEEPEST, MOST = 1048576, 80, 6, 1000

local G, io, os, string, table, debug = _G, io, os, string, table, debug
local type, tostring, tonumber, pairs, next, pcall, xpcall, select, rawget, getmetatable, error =
    type, tostring, tonumber, pairs, next, pcall, xpcall, select, rawget, getmetatable, error
local gsub, match, gmatch, find, sub, byte, format, rep = string.gsub, string.match, string.gmatch, string.find,
    string.sub, string.byte, string.format, string.rep
local load, getenv, sort, concat = loadstring or load, os.getenv, table.sort, table.concat
local exit, execute = os.exit, os.execute
local stdout, stderr, traceback = io.stdout, io.stderr, debug.traceback
local module = arg[1]
local function native(name)
    return assert(package.loadlib(module, name))
end
local open, read, write, interruptible =
    native("session_lua_open"), native("session_lua_read"), native("session_lua_write"), native("session_lua_interruptible")
local known, cell, running = {}, 0, false

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n" }

-- A JSON text; what is no UTF-8 becomes a question mark.
local function text(s)
    s = gsub(s, '[%z\1-\31"\\\127]', function(c)
        return ESCAPES[c] or format("\\u%04x", byte(c))
    end)
    local out, at = {}, 1
    while at <= #s do
        local plain = match(s, "^[\1-\127]+", at)
        local wide = not plain and (match(s, "^[\194-\223][\128-\191]", at)
            or match(s, "^\224[\160-\191][\128-\191]", at) or match(s, "^[\225-\236\238\239][\128-\191][\128-\191]", at)
            or match(s, "^\237[\128-\159][\128-\191]", at)
            or match(s, "^\240[\144-\191][\128-\191][\128-\191]", at)
            or match(s, "^[\241-\243][\128-\191][\128-\191][\128-\191]", at)
            or match(s, "^\244[\128-\143][\128-\191][\128-\191]", at))
        local part = plain or wide
        out[#out + 1] = part or "?"
        at = at + (part and #part or 1)
    end
    return '"' .. concat(out) .. '"'
end

local function send(word, number, argument, payload)
    write(word .. " " .. number .. " " .. argument .. " " .. #payload .. "\n" .. payload)
end

local function quoted(s)
    return (gsub(format("%q", s), "\\\n", "\\n"))
end

local show

-- The parts of a table: first what is a list, then the other keys in their order.
local function parts(value, depth, seen)
    local list, keys, out = 0, {}, {}
    while list < MOST and rawget(value, list + 1) ~= nil do
        list = list + 1
        out[list] = show(value[list], depth + 1, seen)
    end
    for key in next, value do
        if not (type(key) == "number" and key >= 1 and key <= list and key % 1 == 0) then
            keys[#keys + 1] = key
        end
    end
    sort(keys, function(a, b)
        return type(a) == type(b) and (type(a) == "number" or type(a) == "string") and a < b
            or type(a) ~= type(b) and type(a) < type(b)
    end)
    for i = 1, #keys do
        if i > MOST then
            out[#out + 1] = "..."
            break
        end
        local key = keys[i]
        local name = type(key) == "string" and match(key, "^[%a_][%w_]*$") or "[" .. show(key, depth + 1, seen) .. "]"
        out[#out + 1] = name .. " = " .. show(rawget(value, key), depth + 1, seen)
    end
    return out
end

function show(value, depth, seen)
    if type(value) == "string" then
        return quoted(value)
    elseif type(value) ~= "table" then
        return tostring(value)
    end
    local meta = getmetatable(value)
    if type(meta) == "table" and rawget(meta, "__tostring") then
        return tostring(value)
    elseif seen[value] or depth > DEEPEST then
        return "{...}"
    end
    seen[value] = true
    local all = parts(value, depth, seen)
    seen[value] = nil
    local line = concat(all, ", ")
    if #line + 2 * depth <= SHORT then
        return "{" .. line .. "}"
    end
    local indent = rep("  ", depth + 1)
    return "{\n" .. indent .. concat(all, ",\n" .. indent) .. "\n" .. rep("  ", depth) .. "}"
end

local function shown(...)
    local out = {}
    for i = 1, select("#", ...) do
        out[i] = show((select(i, ...)), 0, {})
    end
    return concat(out, "\t")
end

-- An expression is a cell, too.
local function compile(code, name)
    local chunk = load("return " .. code, name)
    if chunk then
        return chunk
    end
    return load(code, name)
end

local function keep_error(message)
    return { message = message, trace = traceback("", 2) }
end

-- The lines of the trace that are the cells' own.
local function cells_only(trace)
    local out, frames = {}, {}
    for line in gmatch(trace, "[^\n]+") do
        local file, number = match(line, "^%s*(cell%-%d+):(%d+): ")
        if file then
            local name = match(line, "in %a+ '([^']*)'") or match(line, "in %a+ <([^>]*)>") or ""
            out[#out + 1] = line
            frames[#frames + 1] = '{"file": "' .. file .. '", "line": ' .. number .. ', "function": ' .. text(name) .. "}"
        end
    end
    return concat(out, "\n"), frames
end

local function fail(number, failure)
    local value = type(failure) == "table" and failure.message or failure
    local ok, message = pcall(tostring, value)
    message = ok and type(message) == "string" and message or "an error without a text"
    if type(value) == "table" and not (getmetatable(value) or {}).__tostring then
        message = shown(value)
    end
    if find(message, "interrupted!", 1, true) then
        stderr:write("interrupted\n")
        return send("done", number, "interrupted", "{}")
    end
    local trace, frames = cells_only(type(failure) == "table" and failure.trace or "")
    if #frames == 0 then
        local file, line = match(message, "^(cell%-%d+):(%d+):")
        frames[1] = file and '{"file": "' .. file .. '", "line": ' .. line .. ', "function": ""}'
    end
    stderr:write("lua: " .. message .. "\n" .. (trace ~= "" and "stack traceback:\n" .. trace .. "\n" or ""))
    local kind = type(failure) == "string" and "SyntaxError" or "error"
    send("done", number, "error", '{"type": "' .. kind .. '", "message": ' .. text(message) .. ', "frames": ['
        .. concat(frames, ", ") .. "]}")
end

local function run(number, code)
    local chunk, message = compile(code, "=cell-" .. number)
    if not chunk then
        return fail(number, message)
    end
    running, cell = true, number
    local function all()
        return chunk()
    end
    -- An interrupt is an error, so it may only come where errors are caught.
    local results = { xpcall(function()
        interruptible("1")
        local values = { n = 0 }
        local function keep(...)
            values.n = select("#", ...)
            if values.n > 0 and not (values.n == 1 and (...) == nil) then
                values.text = shown(...)
            end
        end
        keep(all())
        interruptible("")
        return values.text
    end, function(failure)
        interruptible("")
        return keep_error(failure)
    end) }
    interruptible("")
    running = false
    stdout:flush()
    if not results[1] then
        return fail(number, results[2])
    end
    local value = results[2]
    if value then
        value = #value > LARGEST_TEXT and sub(value, 1, LARGEST_TEXT) .. "..." or value
        send("display", number, "-", '{"text/plain": ' .. text(value) .. "}")
    end
    send("done", number, "ok", "{}")
end

local function check(code)
    local chunk, message = compile(code, "=check")
    if chunk then
        return "complete"
    end
    return find(message, "<eof>'?\"?$") and "incomplete" or "invalid"
end

local function complete(number, code, cursor)
    local path, word = match(sub(code, 1, cursor), "([%w_%.:]-)([%a_]?[%w_]*)$")
    local scope, matches = G, {}
    for name in gmatch(path, "[%w_]+") do
        local ok, value = pcall(function() return scope[name] end)
        scope = ok and value or nil
    end
    local index = type(scope) == "string" and string or type(scope) == "table" and scope or {}
    for name in next, index do
        if type(name) == "string" and (word ~= "" or path ~= "") and sub(name, 1, #word) == word then
            matches[#matches + 1] = name
        end
    end
    sort(matches)
    for i = 1, #matches do
        matches[i] = i <= 500 and text(matches[i]) or nil
    end
    send("answer", number, "ok", '{"matches": [' .. concat(matches, ", ") .. '], "start": ' .. cursor - #word .. "}")
end

local function vars(number)
    local names, out = {}, {}
    for name in next, G do
        if type(name) == "string" and not known[name] then
            names[#names + 1] = name
        end
    end
    sort(names)
    for i, name in ipairs(names) do
        local ok, value = pcall(show, rawget(G, name), 0, {})
        value = ok and value or "?"
        local size = #value
        value = size > SHORT and sub(value, 1, SHORT - 3) .. "..." or value
        out[i] = '{"name": ' .. text(name) .. ', "type": "' .. type(rawget(G, name)) .. '", "size": ' .. size
            .. ', "value": ' .. text((gsub(value, "%s+", " "))) .. "}"
    end
    send("answer", number, "ok", '{"vars": [' .. concat(out, ", ") .. "]}")
end

local function leave(code)
    local status = code == nil and 0 or code == true and 0 or code == false and 1 or tonumber(code) or 1
    stdout:flush()
    if running then
        send("done", cell, "exit", '{"code": ' .. format("%d", status) .. "}")
    end
    exit(status)
end

os.exit = leave
-- While it waits, SIGINT is ignored: what became of the command says that one came.
os.execute = function(...)
    local results = { execute(...) }
    if running and (results[3] == 2 and results[2] == "signal" or results[1] == 2) then
        error("interrupted!", 0)
    end
    return (unpack or table.unpack)(results)
end

local waiting = ""
local function take(length)
    while #waiting < length do
        local more = read("65536")
        if more == "" then
            exit(0)
        end
        waiting = waiting .. more
    end
    local part = sub(waiting, 1, length)
    waiting = sub(waiting, length + 1)
    return part
end

local function take_line()
    while not find(waiting, "\n", 1, true) do
        waiting = take(#waiting) .. take(1) .. waiting
    end
    return take(find(waiting, "\n", 1, true))
end

open(getenv("SANDBOX_RUN_KERNEL_FD"))
stdout:setvbuf("line")
arg = nil
for name in next, G do
    known[name] = true
end
local status = io.open("/proc/self/stat")
local pid = status and match(status:read("*l"), "^%d+") or "0"
if status then
    status:close()
end
send("ready", 0, "-", '{"version": ' .. text(match(_VERSION, "[%d.]+") or "") .. ', "can": ["check", "complete", "vars"], "pid": '
    .. pid .. "}")

while true do
    local word, number, argument, length = match(take_line(), "^(%S+) (%d+) (%S+) (%d+)\n$")
    local payload = take(tonumber(length))
    if word == "execute" then
        run(tonumber(number), payload)
    elseif word == "check" then
        send("answer", number, check(payload), '{"indent": ""}')
    elseif word == "complete" then
        complete(number, payload, tonumber(argument))
    elseif word == "vars" then
        vars(number)
    else
        send("answer", number, "invalid", '{"message": "this kernel cannot do that"}')
    end
end
