//! The demo's policy: that of the examples, moved to where the demo runs.

use std::net::SocketAddr;

use tidegate_policy::Policy;

use crate::exit::Failure;

/// The policy file as it stands among the examples.
pub(crate) const POLICY: &str = include_str!("../../../../examples/quillon.yaml");

/// The name by which messages call it.
pub(crate) const NAME: &str = "examples/quillon.yaml";

/// Returns the policy as the file means it.
///
/// # Errors
/// When the file is wrong, which a test keeps from being built.
pub(crate) fn policy() -> Result<Policy, Failure> {
    tidegate_policy::parse(NAME, POLICY).map_err(Failure::failed)
}

/// Puts the example service behind the gateway, and the faces where the user wants them.
///
/// Faces other than the gateway stay on their own address, loopback, and move by as many ports as the gateway does;
/// with port 0 the system chooses every port.
///
/// # Errors
/// When a face would be moved past the last port.
pub(crate) fn place(
    policy: &mut Policy,
    listen: Option<SocketAddr>,
    behind: SocketAddr,
) -> Result<(), Failure> {
    let Some(gateway) = &mut policy.gateway else {
        return Err(Failure::failed("the demo's policy has no gateway"));
    };
    gateway.upstream = format!("http://{behind}").parse().map_err(Failure::failed)?;
    let Some(listen) = listen else { return Ok(()) };
    let from = std::mem::replace(&mut gateway.listen, listen).port();
    let api = policy.api.as_mut().map(|face| &mut face.listen);
    let admin = policy.admin.as_mut().map(|face| &mut face.listen);
    let health = policy.health.as_mut().map(|face| &mut face.listen);
    for face in [api, admin, health].into_iter().flatten() {
        face.set_port(moved(face.port(), from, listen.port()).ok_or_else(|| {
            Failure::failed(format!(
                "port {} leaves no room for the other faces; choose a lower one",
                listen.port()
            ))
        })?);
    }
    Ok(())
}

/// Returns where a port goes when `from` goes to `to`.
fn moved(port: u16, from: u16, to: u16) -> Option<u16> {
    if to == 0 {
        return Some(0);
    }
    let moved = i32::from(port).checked_sub(i32::from(from))?.checked_add(i32::from(to))?;
    u16::try_from(moved).ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_policy_with_every_face_the_guide_speaks_of() {
        let policy = policy().unwrap();
        assert!(policy.gateway.is_some() && policy.api.is_some() && policy.health.is_some());
    }

    #[test]
    fn faces_move_along_and_never_off_the_end() {
        assert_eq!(moved(8084, 8080, 9000), Some(9004));
        assert_eq!(moved(8084, 8080, 0), Some(0));
        assert_eq!(moved(8084, 8080, 65_533), None);
        assert_eq!(moved(8079, 8080, 1), None);
    }

    #[test]
    fn without_a_wish_only_the_upstream_is_replaced() {
        let mut placed = policy().unwrap();
        place(&mut placed, None, "127.0.0.1:4".parse().unwrap()).unwrap();
        let (mut face, as_written) = (placed.gateway.unwrap(), policy().unwrap().gateway.unwrap());
        assert_eq!(face.upstream, "http://127.0.0.1:4");
        face.upstream = as_written.upstream.clone();
        assert_eq!(face, as_written);
    }
}
