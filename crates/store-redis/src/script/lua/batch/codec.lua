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
