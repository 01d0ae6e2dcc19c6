  -- Products past 2^53, six bits of `b` at a time: the rest stays below c < 2^46, so that 64 times it, and 64 times what
  -- is left of a, stay below 2^53 together.
  slow.muldiv = function(a, b, c)
    local whole = floor(a / c)
    local part = a - whole * c
    local digits, count = {}, 0
    while b > 0 do
      local rest = floor(b / 64)
      count = count + 1
      digits[count] = b - rest * 64
      b = rest
    end
    local quotient, rest = 0, 0
    for i = count, 1, -1 do
      local sum = rest * 64 + part * digits[i]
      local more = floor(sum / c)
      quotient = min(quotient * 64 + whole * digits[i] + more, 2 ^ 60)
      rest = sum - more * c
    end
    return quotient, rest
  end
