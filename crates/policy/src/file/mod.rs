//! A policy file as written: a tree of values with their places.
use crate::problem::Problem;
pub(crate) struct Node;
pub(crate) fn load(_: &str, _: &mut Vec<Problem>) -> Option<Node> {
    None
}
