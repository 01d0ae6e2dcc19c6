-- Reads an integer of seven bits a byte, lowest first; returns it and the place behind it.
local function varint(s, at)
  local number, factor = 0, 1
  while true do
    local b = byte(s, at)
    at = at + 1
    if b < 128 then
      return number + b * factor, at
    end
    number = number + (b - 128) * factor
    factor = factor * 128
  end
end

-- Reads a span, m * 10^e microseconds as the integer 16 m + e.
local function span(s, at)
  local number, behind = varint(s, at)
  local mantissa = floor(number / 16)
  return mantissa * 10 ^ (number - mantissa * 16), behind
end

-- Reads a quota's code; returns the quota and the place behind it. The code comes from the program, or is slow's to doubt.
local function quota_of(s, at)
  local kind = byte(s, at)
  local q, behind = { kind = kind }, at + 1
  q.limit, behind = varint(s, behind)
  if kind == TOKEN or kind == LEAKY then
    q.p = 1
    q.q, behind = span(s, behind)
  elseif kind == TOKEN_P or kind == LEAKY_P then
    q.p, behind = varint(s, behind)
    q.q, behind = span(s, behind)
  elseif kind == LOCKOUT then
    q.window, behind = span(s, behind)
    q.lock, behind = span(s, behind)
  elseif kind < DAY or kind > MONTH then
    q.window, behind = span(s, behind)
  end
  q.code = sub(s, at, behind - 1)
  return q, behind
end
