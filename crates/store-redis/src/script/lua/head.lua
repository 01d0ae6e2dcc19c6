-- The second writing of the crate tidegate_algorithms, and of the batches of a store, in Lua 5.1 on doubles.
--
-- Every number is an integer below 2^53, so that sums, differences and floor(a / b) are exact; products that may be larger
-- go through `muldiv`. A state is a table that nobody changes once it is made; a log alone shares its newest entries.
-- Each function here is made anew at every call of the script, so what is seldom needed stands in `slow`, which makes its
-- own when it is first asked for.
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local sub, byte, unpack, pack = string.sub, string.byte, struct.unpack, struct.pack
local KEYS, ARGV, call = KEYS, ARGV, redis.call

-- 2^52 - 1, the last instant there is.
local LAST = 4503599627370495
-- The kinds of quotas, as the first byte of their code.
local CLOCK, HIT, DAY, WEEK, MONTH, LOG, COUNTER = 1, 2, 3, 4, 5, 6, 7
local TOKEN, TOKEN_P, LEAKY, LEAKY_P, LOCKOUT = 8, 9, 10, 11, 12
-- What begins a value that holds states of several quotas.
local SEVERAL = 255

local time = call('TIME')
-- The server's instant, in microseconds since the epoch; and the one that is decided at, a caller's in tests.
local clock = time[1] * 1000000 + time[2]
local now = ARGV[1] == '' and clock or tonumber(ARGV[1])

-- The quotas of this call.
local quotas = {}

local slow_path
-- What is seldom needed, made when it first is.
local slow = setmetatable({}, {
  __index = function(self, name)
    setmetatable(self, nil)
    slow_path(self)
    return self[name]
  end,
})
