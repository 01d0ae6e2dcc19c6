//! What the decision servers are asked by gRPC. The messages are few and small, so their bytes are written here by hand.

/// Whose protocol a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Make {
    Throttlecrab,
    Tidegate,
}

/// What a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Load {
    /// Many keys, none of which is refused.
    Allowed,
    /// One key, refused.
    Refused,
}

/// A call of gRPC: where it goes, what it may carry, and how its answer is read.
#[derive(Debug)]
pub(in super::super) struct Calls {
    pub(in super::super) path: &'static str,
    /// Framed messages, one of which each call carries.
    pub(in super::super) messages: Vec<Vec<u8>>,
    /// The value of the answer's first field when it admits, and when it refuses.
    pub(in super::super) admits: u64,
    pub(in super::super) refuses: u64,
}

/// Returns the calls of a load, on so many keys where it has many.
pub(in super::super) fn calls(make: Make, load: Load, keys: u32) -> Calls {
    let count = if load == Load::Allowed { keys } else { 1 };
    let key = |number| match load {
        Load::Allowed => format!("user-{number:06}"),
        Load::Refused => format!("flooded-{number:06}"),
    };
    match make {
        Make::Throttlecrab => Calls {
            path: "/throttlecrab.RateLimiter/Throttle",
            messages: (0..count).map(|number| framed(&throttle(&key(number), load))).collect(),
            admits: 1,
            refuses: 0,
        },
        Make::Tidegate => Calls {
            path: "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
            messages: (0..count).map(|number| framed(&should_rate_limit(&key(number), load))).collect(),
            admits: 1,
            refuses: 2,
        },
    }
}

/// `ThrottleRequest`: key, units at once, units in a period, the period in seconds, units asked for.
fn throttle(key: &str, load: Load) -> Vec<u8> {
    let numbers = match load {
        Load::Allowed => [1_000_000, 1, 60, 1],
        Load::Refused => [2, 1, 86_400, 1],
    };
    let mut message = Vec::new();
    bytes_field(&mut message, 1, key.as_bytes());
    for (field, number) in (2..).zip(numbers) {
        varint(&mut message, field << 3);
        varint(&mut message, number);
    }
    message
}

/// `RateLimitRequest`: a domain, and one descriptor of one entry.
fn should_rate_limit(key: &str, load: Load) -> Vec<u8> {
    let (mut entry, mut descriptor, mut message) = (Vec::new(), Vec::new(), Vec::new());
    let name = if load == Load::Allowed { "allowed" } else { "refused" };
    bytes_field(&mut entry, 1, name.as_bytes());
    bytes_field(&mut entry, 2, key.as_bytes());
    bytes_field(&mut descriptor, 1, &entry);
    bytes_field(&mut message, 1, b"bench");
    bytes_field(&mut message, 2, &descriptor);
    message
}

/// Puts the header of a message of gRPC before it: not compressed, and how long it is.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], &length.to_be_bytes()[..], message].concat()
}

fn bytes_field(message: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(message, number << 3 | 2);
    varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

fn varint(message: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        message.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    message.push(u8::try_from(number).unwrap_or(0));
}

/// Returns the number in the first field of a framed message, 0 where the field is left out, as 0 is; `None` where the message
/// cannot be read.
pub(in super::super) fn first_number(framed: &[u8]) -> Option<u64> {
    let mut rest = framed.get(5..)?;
    while !rest.is_empty() {
        let tag = take_varint(&mut rest)?;
        let number = match tag & 7 {
            0 => take_varint(&mut rest)?,
            2 => {
                let length = usize::try_from(take_varint(&mut rest)?).ok()?;
                rest = rest.get(length..)?;
                continue;
            }
            _ => return None,
        };
        if tag >> 3 == 1 {
            return Some(number);
        }
    }
    Some(0)
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_protobuf_and_framed() {
        let calls = calls(Make::Tidegate, Load::Refused, 10);
        let expected =
            b"\0\0\0\0\x24\x0a\x05bench\x12\x1b\x0a\x19\x0a\x07refused\x12\x0eflooded-000000".to_vec();
        assert_eq!(calls.messages.len(), 1);
        assert_eq!(calls.messages[0], expected);
        let throttle = throttle("k", Load::Refused);
        assert_eq!(throttle, b"\x0a\x01k\x10\x02\x18\x01\x20\x80\xa3\x05\x28\x01");
    }

    #[test]
    fn the_first_field_is_found_behind_others_and_is_0_where_it_is_left_out() {
        assert_eq!(first_number(b"\0\0\0\0\x02\x08\x01"), Some(1));
        assert_eq!(first_number(b"\0\0\0\0\x06\x12\x02ab\x08\x02"), Some(2));
        assert_eq!(first_number(b"\0\0\0\0\0"), Some(0));
        assert_eq!(first_number(b"\0\0\0\0\x02\x12\x09"), None);
        assert_eq!(first_number(b"\0"), None);
    }
}
