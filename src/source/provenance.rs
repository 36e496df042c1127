//! The hash that ties an object's bytes to where they came from (contract 2). In: five texts. Out: SHA-256 over their
//! canonical form.
//!
//! Not here: reading the object.

use crate::job::{CommitId, Sha256, Value, canonical, sha256};

/// What the hashed bytes begin with; another format gets another word.
const DOMAIN: &[u8] = b"lockgate-provenance-v1\n";

/// `provenance_hash` of an object. `path` is the repository path, `repository` is `source.repository`.
pub fn provenance_hash(
    repository: &str,
    commit: &CommitId,
    path: &str,
    object_id: &str,
    content_sha256: Sha256,
) -> Sha256 {
    let text = |key: &str, value: &str| (key.to_owned(), Value::Text(value.to_owned()));
    let document = Value::Object(vec![
        text("commit", commit.as_str()),
        text("content_sha256", &content_sha256.to_string()),
        text("object_id", object_id),
        text("path", path),
        text("repository", repository),
    ]);
    let mut preimage = DOMAIN.to_vec();
    preimage.extend(canonical(&document));
    sha256(&preimage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;

    #[test]
    fn m_l_the_worked_examples_of_the_contract_hold() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/vectors/provenance.json")).unwrap();
        let vectors = vectors.as_array().unwrap();
        assert!(vectors.len() >= 3);
        for vector in vectors {
            let field = |name: &str| vector["input"][name].as_str().unwrap();
            let content = base64::engine::general_purpose::STANDARD
                .decode(vector["content_b64"].as_str().unwrap())
                .unwrap();
            assert_eq!(sha256(&content).to_string(), field("content_sha256"));
            let commit = CommitId::parse(field("commit")).unwrap();
            let hash = provenance_hash(
                field("repository"),
                &commit,
                field("path"),
                field("object_id"),
                sha256(&content),
            );
            assert_eq!(hash.to_string(), vector["provenance_hash"].as_str().unwrap());
        }
    }

    #[test]
    fn m_l_each_of_the_five_changes_the_hash() {
        let commit = |digit: &str| CommitId::parse(&digit.repeat(40)).unwrap();
        let base = provenance_hash("r", &commit("1"), "p", "o", sha256(b"c"));
        let others = [
            provenance_hash("R", &commit("1"), "p", "o", sha256(b"c")),
            provenance_hash("r", &commit("2"), "p", "o", sha256(b"c")),
            provenance_hash("r", &commit("1"), "P", "o", sha256(b"c")),
            provenance_hash("r", &commit("1"), "p", "O", sha256(b"c")),
            provenance_hash("r", &commit("1"), "p", "o", sha256(b"C")),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
