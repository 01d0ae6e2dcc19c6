-- Names that both writings need; the text stands twice in the script, since a local of one's own is cheaper than another's.
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local sub, byte, unpack, pack = string.sub, string.byte, struct.unpack, struct.pack

-- 2^52 - 1, the last instant there is.
local LAST = 4503599627370495
-- The kinds of quotas, as the first byte of their code.
local CLOCK, HIT, DAY, WEEK, MONTH, LOG, COUNTER = 1, 2, 3, 4, 5, 6, 7
local TOKEN, TOKEN_P, LEAKY, LEAKY_P, LOCKOUT = 8, 9, 10, 11, 12
-- What begins a value that holds states of several quotas.
local SEVERAL = 255
