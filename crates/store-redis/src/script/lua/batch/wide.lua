-- Returns floor(a * b / c) and the rest, for a < 2^53, b < 2^53 and c < 2^46; a quotient past 2^53 is only known to be
-- that large.
local function muldiv(a, b, c)
  local product = a * b
  if product < 9007199254740992 then
    local quotient = floor(product / c)
    return quotient, product - quotient * c
  end
  return slow.muldiv(a, b, c)
end
