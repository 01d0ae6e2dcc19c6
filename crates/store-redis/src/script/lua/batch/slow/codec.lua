  -- Reads a log: its units, then its entries. Nil unless the length fits.
  local function log_of(s, at)
    local size = #s - at + 1 - 4
    if size < ENTRY or size % ENTRY ~= 0 then
      return nil
    end
    return {
      text = s, base = at + 4, n = size / ENTRY, m = 0, at = {}, units = {}, total = unpack('>I4', s, at),
      seen = { base = at + 4 },
    }
  end

  slow.state_of = function(q, s, at, rest)
    local kind = q.kind
    if kind == LOG then
      return log_of(s, at)
    end
    local first = unpack('>I7', s, at)
    if kind == HIT then
      if rest <= 4 then
        return { ends = first, count = unpack(COUNT[rest], s, at + 7), early = 0 }
      elseif rest == 8 then
        local count, early = unpack('>I4I4', s, at + 7)
        return { ends = first, count = count, early = early }
      end
    elseif kind == COUNTER and rest % 2 == 0 and rest <= 8 then
      local form = COUNT[rest / 2]
      return { at = first, current = unpack(form, s, at + 7), previous = unpack(form, s, at + 7 + rest / 2) }
    elseif (kind == TOKEN_P or kind == LEAKY_P) and rest > 4 and rest <= 8 then
      local part = unpack('>I4', s, at + 7)
      if part < q.p then
        return { micros = first, sub = part, whole = unpack(COUNT[rest - 4], s, at + 11) }
      end
    elseif kind == LOCKOUT then
      if rest <= 4 then
        return { ends = first, count = unpack(COUNT[rest], s, at + 7), early = 0, locked = 0 }
      elseif rest == 15 then
        local count, early, locked = unpack('>I4I4I7', s, at + 7)
        return { ends = first, count = count, early = early, locked = locked }
      end
    end
    return nil
  end

  local function log_bytes(log)
    local parts = { pack('>I4', min(log.total, 4294967295)), sub(log.text, log.base, log.base + log.n * ENTRY - 1) }
    for i = 1, log.m do
      parts[i + 2] = pack('>I7I4', log.at[i], log.units[i])
    end
    return table.concat(parts)
  end

  slow.state_bytes = function(q, st)
    local kind = q.kind
    if kind == LOG then
      return log_bytes(st)
    elseif kind == HIT then
      return pack('>I7', st.ends) .. (st.early == 0 and count_bytes(st.count) or pack('>I4I4', st.count, st.early))
    elseif kind == COUNTER then
      local most = max(st.current, st.previous)
      local form = COUNT[(most < 256 and 1) or (most < 65536 and 2) or (most < 16777216 and 3) or 4]
      return pack('>I7', st.at) .. pack(form, st.current) .. pack(form, st.previous)
    elseif kind == LOCKOUT then
      if st.early == 0 and st.locked == 0 then
        return pack('>I7', st.ends) .. count_bytes(st.count)
      end
      return pack('>I7I4I4I7', st.ends, st.count, st.early, st.locked)
    end
    return pack('>I7I4', st.micros, st.sub) .. count_bytes(st.whole)
  end

  local function varint_bytes(number)
    local bytes = {}
    repeat
      local rest = floor(number / 128)
      bytes[#bytes + 1] = number - rest * 128 + (rest > 0 and 128 or 0)
      number = rest
    until number == 0
    return string.char(_G.unpack(bytes))
  end

  -- Writes a span from `least` microseconds to 400 days; fails for any other.
  local function span_bytes(micros, least)
    assert(micros >= least and micros <= 34560000000000)
    local exponent = 0
    while micros % 10 == 0 and exponent < 15 do
      micros, exponent = micros / 10, exponent + 1
    end
    return varint_bytes(micros * 16 + exponent)
  end

  local function gcd(a, b)
    while b > 0 do
      a, b = b, a % b
    end
    return a
  end

  -- Writes the rate of a bucket, p units in q microseconds; fails for one that could be said in smaller numbers, or not
  -- within a millisecond and 2^30 units.
  local function rate_bytes(q)
    local whole = q.kind == TOKEN or q.kind == LEAKY
    local span = span_bytes(q.q, 1)
    assert(q.p * ceil(1000 / q.q) <= 1073741824 and (whole or (q.p > 1 and gcd(q.p, q.q) == 1)))
    return (whole and '' or varint_bytes(q.p)) .. span
  end

  -- Reads a quota's code that somebody else wrote; fails where it is none, or not the one that the quota has.
  local function doubtful_quota(s, at)
    local kind = byte(s, at)
    assert(kind and kind >= CLOCK and kind <= LOCKOUT)
    local q, behind = quota_of(s, at)
    local never_none = kind == TOKEN or kind == TOKEN_P or kind == LOCKOUT
    assert(q.limit >= (never_none and 1 or 0) and q.limit <= (kind == LOG and 100000 or 1073741824))
    local code = string.char(kind) .. varint_bytes(q.limit)
    if q.q then
      code = code .. rate_bytes(q)
    elseif q.window then
      code = code .. span_bytes(q.window, 1000) .. (q.lock and span_bytes(q.lock, 1000) or '')
    end
    assert(code == q.code)
    return q, behind
  end

  -- Reads a whole value: the state that was written last, with its quota, and those that were left.
  slow.value_of = function(raw)
    if byte(raw, 1) ~= SEVERAL then
      local q, behind = doubtful_quota(raw, 1)
      return { q = q, st = assert(state_of(q, raw, behind)) }, {}
    end
    local has_current, at, held = byte(raw, 2), 3, {}
    assert(has_current == 0 or has_current == 1)
    while at <= #raw do
      local length = unpack('>I4', raw, at)
      assert(length > 0 and at + 3 + length <= #raw)
      local one = sub(raw, at + 4, at + 3 + length)
      local q, behind = doubtful_quota(one, 1)
      held[#held + 1] = { q = q, st = assert(state_of(q, one, behind)) }
      at = at + 4 + length
    end
    assert(#held > 0)
    return has_current == 1 and table.remove(held, 1) or nil, held
  end

  -- Writes a value that holds several states.
  slow.value_bytes = function(current, left)
    local parts = { pack('>BB', SEVERAL, current and 1 or 0) }
    local function add(held)
      local one = held.q.code .. state_bytes(held.q, held.st)
      parts[#parts + 1] = pack('>I4', #one) .. one
    end
    if current then
      add(current)
    end
    for _, held in ipairs(left) do
      add(held)
    end
    return table.concat(parts)
  end
