use std::path::PathBuf;
use std::process::Command;

use protox::Compiler;

use super::SERVICE_SET;

/// Where the definition stands that `reflection.bin` is made of.
const SERVICE: &str = "envoy/service/ratelimit/v3/rls.proto";
/// The folders of definitions in the crate that our messages come from.
const FOLDERS: [&str; 4] =
    ["proto/data-plane-api", "proto/xds", "proto/protoc-gen-validate", "proto/googleapis"];

/// Runs a program and returns what it says.
fn said(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the folder of the crate that our messages come from, as cargo has it. Only what this machine builds is asked
/// for: crates for others may not be there.
fn definitions() -> PathBuf {
    let version = said("rustc", &["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata =
        said("cargo", &["metadata", "--format-version", "1", "--offline", "--filter-platform", host]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "envoy-types").unwrap();
    let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().to_owned()
}

/// Guards tools against a description of another service than the one that is served. Where this fails, set
/// `TIDEGATE_WRITE_REFLECTION` and run it once more: it writes the file.
#[test]
fn the_description_is_what_comes_of_the_definitions_of_our_messages() {
    let root = definitions();
    let mut compiler = Compiler::new(FOLDERS.map(|folder| root.join(folder))).unwrap();
    compiler.include_imports(true).include_source_info(false).open_file(SERVICE).unwrap();
    let made = compiler.encode_file_descriptor_set();
    if std::env::var_os("TIDEGATE_WRITE_REFLECTION").is_some() {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/envoy/reflection.bin");
        std::fs::write(file, &made).unwrap();
    }
    assert!(made == SERVICE_SET, "reflection.bin is not what the definitions say");
}
