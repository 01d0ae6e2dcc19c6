//! Names of keys that are not declared.

use super::SOURCES;
use crate::file::is_name;

/// Says what to do about a key that is not declared: many are built in under another name, or written in place.
pub(super) fn undeclared(name: &str) -> String {
    const ADDRESS: [&str; 8] = [
        "ip",
        "client",
        "address",
        "remote_addr",
        "binary_remote_addr",
        "remote_address",
        "source_ip",
        "peer",
    ];
    const EVERYONE: [&str; 6] = ["all", "everyone", "everybody", "none", "service", "*"];
    let parts: Vec<&str> = name.split([',', '+', '|', ' ']).filter(|part| !part.is_empty()).collect();
    if parts.len() > 1 && parts.iter().all(|part| is_name(part)) {
        return format!("write a list: [{}]", parts.join(", "));
    }
    let lower = name.to_ascii_lowercase();
    let bare = lower.trim_start_matches('$');
    let squeezed = bare.replace(['.', '-', ' '], "_");
    if ADDRESS.contains(&squeezed.as_str()) {
        return "did you mean \"client_ip\"?".to_owned();
    }
    if EVERYONE.contains(&bare) {
        return "did you mean \"global\", everyone together?".to_owned();
    }
    let nginx = lower.strip_prefix("$http_").map(|field| field.replace('_', "-"));
    let dotted = bare.split_once(['.', ':']).filter(|(source, _)| SOURCES.contains(source));
    match (nginx, dotted) {
        (Some(field), _) => format!("write {{ header: {field} }}"),
        (_, Some(("json", rest))) => format!("write {{ json: {} }}", pointer(rest.trim())),
        (_, Some((source, rest))) => format!("write {{ {source}: {} }}", rest.trim()),
        _ if name.starts_with('/') => format!("write {{ json: {name} }}"),
        _ => "declare it under `keys`".to_owned(),
    }
}

/// Returns the JSON pointer that a path with dots stands for: `user.name` means `/user/name`.
fn pointer(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{}", path.replace('.', "/")) }
}
