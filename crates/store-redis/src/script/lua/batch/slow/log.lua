  -- Builds a log from entries of this call.
  local function log_from(at, units, count, total)
    return { text = '', base = 1, n = 0, m = count, at = at, units = units, total = total, seen = { base = 1 } }
  end

  -- Copies the entries of this call, without the last `drop` of them.
  local function copied(log, drop)
    local at, units = {}, {}
    for i = 1, log.m - drop do
      at[i], units[i] = log.at[i], log.units[i]
    end
    return at, units
  end

  slow.log_merge = function(log, pushed, newest, sum)
    local drop = log.m > 0 and 1 or 0
    pushed.at, pushed.units = copied(log, drop)
    pushed.n, pushed.m = log.n - 1 + drop, log.m + 1 - drop
    pushed.at[pushed.m], pushed.units[pushed.m] = newest, sum
    return pushed
  end

  slow.log_forget = function(log, gone)
    local total = log.total
    for i = 0, gone - 1 do
      local _, units = log_entry(log, i)
      total = total - units
    end
    local stored = min(gone, log.n)
    local at, units = {}, {}
    for i = gone - stored + 1, log.m do
      at[#at + 1], units[#units + 1] = log.at[i], log.units[i]
    end
    return {
      text = log.text, base = log.base + stored * ENTRY, n = log.n - stored, m = #at, at = at, units = units,
      total = total, seen = log.seen,
    }
  end

  -- Moves what is dated after now to now.
  slow.log_redate = function(log)
    local moved, n, m = 0, log.n, log.m
    while n + m > 0 do
      local at, units = log_entry(log, n + m - 1)
      if at <= now then
        break
      end
      moved = moved + units
      if m > 0 then
        m = m - 1
      else
        n = n - 1
      end
    end
    local at, units = copied(log, log.m - m)
    local kept = {
      text = log.text, base = log.base, n = n, m = m, at = at, units = units, total = log.total - moved, seen = log.seen,
    }
    return moved > 0 and log_push(kept, moved) or kept
  end

  -- Takes units off the entry of an instant.
  slow.log_take = function(log, instant, taken)
    local at, units, count, total = {}, {}, 0, 0
    for i = 0, log.n + log.m - 1 do
      local when, held = log_entry(log, i)
      if when == instant then
        held = held - min(held, taken)
      end
      if held > 0 then
        count, total = count + 1, total + held
        at[count], units[count] = when, held
      end
    end
    log.seen.whole = true
    return log_from(at, units, count, total)
  end

  -- Returns what of a log counts, under another window.
  local function log_carry(from, log, to)
    local at, units, count, total = {}, {}, 0, 0
    local shift = max(from.window - to.window, 0)
    for i = 0, log.n + log.m - 1 do
      local when, held = log_entry(log, i)
      if when + from.window > now then
        when = min(when + shift, now)
        total = total + held
        if count > 0 and at[count] >= when then
          units[count] = units[count] + held
        else
          count = count + 1
          at[count], units[count] = when, held
        end
      end
    end
    return log_from(at, units, count, total)
  end

  -- Returns the entries that something of this call looked at, and the newest, from the oldest that counts on.
  local function log_places(log, seen, gone)
    local places = {}
    for place in pairs(seen) do
      if type(place) == 'number' and place >= gone and place < log.n - 1 then
        places[#places + 1] = place
      end
    end
    table.sort(places)
    places[#places + 1] = log.n - 1
    return places
  end

  -- Returns the units of each entry at `places` and of those between it and the one before. The longest stretch is what is
  -- left of all: of a log of 100,000 entries a few are read, not each.
  local function log_sums(log, places, gone, used)
    local sums, longest, most, first = {}, 1, -1, gone
    for i, place in ipairs(places) do
      if place - first > most then
        longest, most = i, place - first
      end
      first = place + 1
    end
    first = gone
    for i, place in ipairs(places) do
      local sum = 0
      for at = first, i == longest and first - 1 or place do
        local _, units = log_entry(log, at)
        sum = sum + units
      end
      sums[i], used, first = sum, used - sum, place + 1
    end
    sums[longest] = used
    return sums
  end

  -- Returns the log as the program needs it: entries that nothing of this call looked at are put together with the next
  -- one that something did.
  slow.log_reduced = function(seen, raw, q)
    local log = state_of(q, raw, #q.code + 1)
    local gone, used = log_view(q, log)
    if gone == log.n then
      return false
    end
    local places = log_places(log, seen, gone)
    local parts = { q.code, pack('>I4', used) }
    for i, sum in ipairs(log_sums(log, places, gone, used)) do
      parts[i + 2] = pack('>I7I4', (log_entry(log, places[i])), sum)
    end
    return table.concat(parts)
  end
