  -- Returns the state dated now for one dated after it; nil for any other.
  slow.redate = function(q, st)
    local kind = q.kind
    if kind <= MONTH then
      local count, ends, redated, _, early = window_view(q, st)
      return redated and { ends = ends, count = count, early = early } or nil
    elseif kind == LOG then
      local _, _, redated = log_view(q, st)
      if redated then
        st.seen.whole = true
      end
      return redated and slow.log_redate(st) or nil
    elseif kind == COUNTER then
      return st.at > now and { at = now, current = st.current, previous = st.previous } or nil
    elseif kind <= TOKEN_P then
      local whole, _, redated = credit(q, st)
      return redated and { whole = whole, micros = now, sub = 0 } or nil
    elseif kind <= LEAKY_P then
      local whole, _, redated = backlog(q, st)
      return redated and { whole = whole, micros = now, sub = 0 } or nil
    end
    local lock, redated = lock_view(q, st)
    return redated and lock or nil
  end

  -- Returns the instant from which a state of several words cannot be told from a fresh one.
  slow.keep_until = function(q, st)
    local kind = q.kind
    if kind == LOG then
      local count = st.n + st.m
      return count > 0 and log_entry(st, count - 1) + q.window or 0
    elseif kind == COUNTER then
      local windows = (st.current > 0 and 2) or (st.previous > 0 and 1) or nil
      return windows and (floor(st.at / q.window) + windows) * q.window or 0
    elseif kind == LOCKOUT then
      return st.count > 0 and free_at(st) or 0
    elseif kind == TOKEN_P then
      return st.whole < q.limit and level_after(q, st, q.limit - st.whole) or 0
    end
    return st.whole > 0 and level_after(q, st, st.whole) or 0
  end

  local function until_clamped(q, st)
    return max(keep_until(q, st), now)
  end

  local function stricter(q, carried, left)
    if not carried or not left then
      return carried or left
    end
    return (remaining(q, left)) <= (remaining(q, carried)) and left or carried
  end

  local function is_worth_keeping(gone, new, to)
    local from, st = gone.q, gone.st
    if not new then
      return true
    end
    local function used(q, state)
      return max(nominal(q) - (remaining(q, state)), 0)
    end
    local raised = family(from) == family(to) and nominal(from) <= nominal(to) and from.kind ~= LOCKOUT
    if used(from, st) > (raised and used(to, new) or 0) then
      return true
    end
    local back = carry(to, new, from)
    if not back then
      return true
    end
    local ends = until_clamped(from, st)
    return (remaining(from, back)) > (remaining(from, st))
      or until_clamped(from, back) < ends
      or until_clamped(to, new) < ends
  end

  -- Drops what cannot be told from a fresh state.
  slow.forget = function(cell)
    local current, left = cell.current, cell.left
    if current and keep_until(current.q, current.st) <= now then
      cell.current = nil
    end
    cell.left = {}
    for _, held in ipairs(left) do
      if keep_until(held.q, held.st) > now then
        cell.left[#cell.left + 1] = held
      end
    end
  end

  local function left_under(cell, q)
    for _, held in ipairs(cell.left) do
      if held.q.code == q.code then
        return held.st
      end
    end
    return nil
  end

  -- Returns the state that a check of a quota is held against, where it is not simply the current one.
  slow.state = function(cell, q)
    local current = cell.current
    if not current then
      return left_under(cell, q)
    end
    return stricter(q, carry(current.q, current.st, q), left_under(cell, q))
  end

  -- Writes a state that was decided on `before`, under a quota other than the current one's.
  slow.change = function(cell, q, before, st)
    st = st or before
    if not st then
      return
    end
    local gone, left = cell.current, {}
    for _, held in ipairs(cell.left) do
      if held.q.code ~= q.code then
        left[#left + 1] = held
      end
    end
    if gone and is_worth_keeping(gone, before, q) then
      left[#left + 1] = gone
    end
    cell.current, cell.left, cell.dirty = { q = q, st = st }, left, true
  end
