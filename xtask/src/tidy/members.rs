//! The workspace's crates as the checks see them.

use cargo_metadata::{DependencyKind, Metadata};

use super::{Finding, Tree};

/// A crate of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Its manifest, relative to the workspace root.
    pub(crate) manifest: String,
    pub(crate) needs: Vec<Need>,
}

/// One line of a manifest's dependency tables.
#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) package: String,
    pub(crate) kind: DependencyKind,
    /// Whether it is named by a path, as every crate of the workspace is and nothing else may be.
    pub(crate) by_path: bool,
}

impl Member {
    /// Returns the folder that holds the crate, relative to the workspace root.
    pub(crate) fn folder(&self) -> &str {
        self.manifest.strip_suffix("/Cargo.toml").unwrap_or_default()
    }
}

/// Takes from cargo's metadata what the checks ask.
pub(crate) fn of(metadata: &Metadata) -> Vec<Member> {
    let root = &metadata.workspace_root;
    let relative = |manifest: &cargo_metadata::camino::Utf8Path| {
        manifest.strip_prefix(root).unwrap_or(manifest).as_str().replace('\\', "/")
    };
    let needs = |package: &cargo_metadata::Package| {
        let need = |it: &cargo_metadata::Dependency| Need {
            package: it.name.clone(),
            kind: it.kind,
            by_path: it.path.is_some(),
        };
        package.dependencies.iter().map(need).collect()
    };
    metadata
        .workspace_packages()
        .into_iter()
        .map(|package| Member {
            name: package.name.to_string(),
            manifest: relative(&package.manifest_path),
            needs: needs(package),
        })
        .collect()
}

/// Finds crates that do not take the workspace's lints: they would be held to none.
pub(crate) fn inherit_lints(members: &[Member], tree: &Tree) -> Vec<Finding> {
    let inherits = |member: &&Member| {
        let manifest = tree.text(&member.manifest)?.parse::<toml::Table>().ok()?;
        manifest.get("lints")?.get("workspace")?.as_bool()
    };
    members
        .iter()
        .filter(|member| inherits(member) != Some(true))
        .map(|member| {
            let remedy = "add `workspace = true` under `[lints]`";
            Finding::new(&member.manifest, "the workspace's lints are not inherited", remedy)
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod made_up {
    use super::{DependencyKind, Member, Need};

    /// Makes a member in `crates/NAME` with normal needs; a need that starts with `tidegate` is by path.
    pub(crate) fn member(name: &str, needs: &[&str]) -> Member {
        with_kind(name, needs, DependencyKind::Normal)
    }

    pub(crate) fn with_kind(name: &str, needs: &[&str], kind: DependencyKind) -> Member {
        let need = |it: &&str| Need { package: (*it).to_owned(), kind, by_path: it.starts_with("tidegate") };
        let short = name.strip_prefix("tidegate-").unwrap_or(name);
        Member {
            name: name.to_owned(),
            manifest: format!("crates/{short}/Cargo.toml"),
            needs: needs.iter().map(need).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lints_of(manifest: &str) -> Vec<Finding> {
        let tree = Tree::of(&[("crates/store/Cargo.toml", manifest)]);
        inherit_lints(&[made_up::member("tidegate-store", &[])], &tree)
    }

    #[test]
    fn a_crate_without_the_workspace_lints_is_found() {
        for manifest in
            ["", "[lints]\nworkspace = false", "[lints.rust]\nunsafe_code = \"forbid\"", "not toml"]
        {
            let found = lints_of(manifest);
            assert_eq!(found.len(), 1, "{manifest}");
            assert_eq!(found[0].place, "crates/store/Cargo.toml");
        }
        assert_eq!(lints_of("[lints]\nworkspace = true"), []);
    }
}
