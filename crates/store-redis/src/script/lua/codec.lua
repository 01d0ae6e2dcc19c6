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

local COUNT = { '>I1', '>I2', '>I3', '>I4' }

-- Reads the state of a quota from `at` to the end of a value; nil when it is none of ours.
local function state_of(q, s, at)
  local kind, rest = q.kind, #s - at - 6
  if rest < 1 then
    return nil
  end
  if kind == TOKEN or kind == LEAKY then
    if rest > 4 then
      return nil
    end
    return { micros = unpack('>I7', s, at), sub = 0, whole = unpack(COUNT[rest], s, at + 7) }
  elseif kind == CLOCK or (kind >= DAY and kind <= MONTH) then
    if rest > 4 then
      return nil
    end
    return { ends = unpack('>I7', s, at), count = unpack(COUNT[rest], s, at + 7), early = 0 }
  end
  return slow.state_of(q, s, at, rest)
end

-- Writes a count of so few units in as few bytes as hold it.
local function count_bytes(count)
  return pack(COUNT[(count < 256 and 1) or (count < 65536 and 2) or (count < 16777216 and 3) or 4], count)
end

-- Writes a state.
local function state_bytes(q, st)
  local kind = q.kind
  if kind == TOKEN or kind == LEAKY then
    return pack('>I7', st.micros) .. count_bytes(st.whole)
  elseif kind == CLOCK or (kind >= DAY and kind <= MONTH) then
    return pack('>I7', st.ends) .. count_bytes(st.count)
  end
  return slow.state_bytes(q, st)
end
