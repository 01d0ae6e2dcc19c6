-- The second writing of the crate tidegate_algorithms, and of the batches of a store, in Lua 5.1 on doubles.
--
-- Every number is an integer below 2^53, so that sums, differences and floor(a / b) are exact; products that may be larger
-- go through `muldiv`. A state is a table that nobody changes once it is made; a log alone shares its newest entries.
-- Each function is made anew at every call of the script, and costs the more the more locals stand around it. So what
-- answers the commonest questions stands at the top; all that a batch needs is made when the first one is met, and what is
-- seldom needed even then, in `slow`, when that is.
local KEYS, ARGV, call = KEYS, ARGV, redis.call

local time = call('TIME')
-- The server's instant, in microseconds since the epoch; and the one that is decided at, a caller's in tests.
local clock = time[1] * 1000000 + time[2]
local now = ARGV[1] == '' and clock or tonumber(ARGV[1])

-- The questions of this call, and its quotas.
local text, quotas = ARGV[2], {}
-- What is known of the keys that batches have named, by their place.
local cells = {}

local make_batches
-- What decides batches, made when it is first needed.
local batches = setmetatable({}, {
  __index = function(self, name)
    setmetatable(self, nil)
    make_batches(self)
    return self[name]
  end,
})
