  -- Returns what kind of state a quota reads: those of one family read each other's.
  local function family(q)
    local kind = q.kind
    if kind <= MONTH then
      return kind == HIT and 2 or 1
    elseif kind >= TOKEN and kind <= LEAKY_P then
      return kind <= TOKEN_P and 8 or 10
    end
    return kind
  end

  -- Returns the units a fresh state admits at once.
  local function nominal(q)
    return (q.kind == LEAKY or q.kind == LEAKY_P) and q.limit + 1 or q.limit
  end

  -- Returns the units that a state leaves, and whether it cannot be told from a fresh one.
  local function remaining(q, st)
    local kind = q.kind
    if kind <= MONTH then
      local count = window_view(q, st)
      return max(q.limit - count, 0), count == 0
    elseif kind == LOG then
      local _, used = log_view(q, st)
      return max(q.limit - used, 0), used == 0
    elseif kind == COUNTER then
      local current, previous, elapsed = counter_view(q, st)
      return max(q.limit - counter_used(q, current, previous, elapsed), 0), current == 0 and previous == 0
    elseif kind <= TOKEN_P then
      local whole = credit(q, st)
      return whole, whole == q.limit
    elseif kind <= LEAKY_P then
      local whole = backlog(q, st)
      return max(q.limit + 1 - whole, 0), whole == 0
    end
    local lock = lock_view(q, st)
    return lock.locked > 0 and 0 or max(q.limit - lock.count, 0), lock.count == 0
  end

  local function alike(from, st, to)
    local kind = to.kind
    if kind <= MONTH then
      local count, ends, _, _, early = window_view(to, st)
      return { ends = ends, count = count, early = kind == HIT and early or 0 }
    elseif kind == LOG then
      return log_carry(from, st, to)
    elseif kind == COUNTER then
      if from.window == to.window then
        return st
      end
      local current, previous, elapsed = counter_view(from, st)
      return { at = now, current = counter_used(from, current, previous, elapsed), previous = 0 }
    elseif kind <= TOKEN_P then
      local whole, rest = credit(from, st)
      if whole >= to.limit then
        return { whole = to.limit, micros = now, sub = 0 }
      end
      return level_at(to, whole, (muldiv(rest, to.q, from.q)))
    elseif kind <= LEAKY_P then
      local whole, rest = backlog(from, st)
      if whole == 0 then
        return { whole = 0, micros = now, sub = 0 }
      end
      return level_at(to, whole, (muldiv(rest, to.q, from.q)))
    end
    return (lock_view(to, st))
  end

  -- Charges what is in use under `from` to a fresh state of `to`.
  local function charged(from, st, to)
    local used = max(nominal(from) - (remaining(from, st)), 0)
    local cost = min(used, to.kind == LOCKOUT and to.limit - 1 or nominal(to))
    if cost == 0 then
      return nil
    end
    local _, state = slow.decide(to, nil, cost)
    return state
  end

  -- Expresses a state written under `from` for `to`; nil where it cannot be told from a fresh one.
  local function carry(from, st, to)
    if st.seen then
      st.seen.whole = true
    end
    st = slow.redate(from, st) or st
    local _, fresh = remaining(from, st)
    if fresh then
      return nil
    end
    local carried
    if from.code == to.code then
      carried = st
    elseif family(from) == family(to) or (from.kind <= MONTH and to.kind <= MONTH) then
      carried = alike(from, st, to)
    else
      carried = charged(from, st, to)
    end
    if not carried then
      return nil
    end
    _, fresh = remaining(to, carried)
    return not fresh and carried or nil
  end
