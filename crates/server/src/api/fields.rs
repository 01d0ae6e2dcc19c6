//! Objects of a call whose members are free to name: what JSON leaves open is read in one way or refused.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// An object that names no member twice: parsers differ in which of the two they keep.
#[derive(Debug)]
pub(super) struct Members<V>(pub(super) BTreeMap<String, V>);

impl<V> Default for Members<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName(PhantomData))
    }
}

struct ByName<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for ByName<V> {
    type Value = Members<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<V>, A::Error> {
        let mut members = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value()?;
            if members.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is there twice; name it once")));
            }
            members.insert(name, value);
        }
        Ok(Members(members))
    }
}
