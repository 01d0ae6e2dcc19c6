//! x
use crate::file::Node;
use crate::policy::Policy;
use crate::problem::Problem;
pub(crate) fn policy(_: &Node, _: &mut Vec<Problem>) -> Option<Policy> {
    None
}
