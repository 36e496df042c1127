//! The configuration that `lockgate up` writes where there is none. In: two fresh ids. Out: the text of lockgate.toml.
//!
//! Not here: writing it (daemon/).

/// The text. Everything else has its default: see lockgate.toml(5).
pub fn default_toml(instance: &str, vault_id: &str) -> String {
    format!(
        r#"# Made by `lockgate up`. Every key is described in lockgate.toml(5).
mode = "development"
# Approvals are bound to this id.
instance = "{instance}"

[source]
kind = "git"
ref = "main"
repository = "local/source"
path = "source"

[vault]
kind = "directory"
path = "vault"
# What vault/.lockgate-vault holds.
id = "{vault_id}"

# Every delete needs one signature by a key in the approvers file.
[[delete.approval]]
paths = ["/app/vault/**"]
required = 1
max_age = "24h"
"#
    )
}
