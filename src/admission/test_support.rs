//! Facts for the tests of this room.

use super::{Facts, GatewayFacts};
use crate::job::document::DocumentRules;
use crate::job::{JobKind, Role, VaultPath};

pub(super) const UID: u32 = 1000;

pub(super) fn everyone(_: u32, _: JobKind, _: &VaultPath) -> bool {
    true
}

pub(super) fn facts(role: Role, rules: &DocumentRules) -> Facts<'_> {
    Facts {
        role,
        rules,
        may_ask: &everyone,
        uid: UID,
    }
}

pub(super) fn gateway(rules: &DocumentRules) -> GatewayFacts<'_> {
    GatewayFacts {
        rules,
        may_ask: &everyone,
        uid: UID,
    }
}
