//! Who is in which group. In: the texts of /etc/passwd and /etc/group. Out: the UIDs of a group.
//!
//! Only the two files are read: no name service is asked, so that a policy means the same whatever a network says.
//!
//! Not here: what a group may do (`requesters`).

use std::collections::BTreeSet;

/// The two files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People {
    passwd: String,
    group: String,
}

/// Why a group has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeopleError {
    /// No line for it.
    #[error("there is no group \"{0}\" in /etc/group")]
    NoGroup(String),
    /// A member without a line in /etc/passwd, or with one that cannot be read.
    #[error("group \"{group}\" has a member \"{member}\" whom /etc/passwd does not know")]
    NoMember {
        /// The group.
        group: String,
        /// The name in its line.
        member: String,
    },
}

impl People {
    /// From the texts of the two files.
    pub fn new(passwd: impl Into<String>, group: impl Into<String>) -> People {
        People {
            passwd: passwd.into(),
            group: group.into(),
        }
    }

    /// This machine's.
    ///
    /// # Errors
    /// Either file cannot be read.
    pub fn of_this_machine() -> std::io::Result<People> {
        Ok(People::new(
            std::fs::read_to_string("/etc/passwd")?,
            std::fs::read_to_string("/etc/group")?,
        ))
    }

    /// The UIDs of everyone listed in the group or with it as their first group.
    ///
    /// # Errors
    /// [`PeopleError`].
    pub fn members(&self, group: &str) -> Result<BTreeSet<u32>, PeopleError> {
        let line = self
            .group
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.len() == 4 && fields.first() == Some(&group))
            .ok_or_else(|| PeopleError::NoGroup(group.to_owned()))?;
        let gid = line.get(2).and_then(|gid| gid.parse::<u32>().ok());
        let mut uids: BTreeSet<u32> = self
            .accounts()
            .filter(|account| gid.is_some() && account.gid == gid)
            .map(|account| account.uid)
            .collect();
        for member in line
            .get(3)
            .unwrap_or(&"")
            .split(',')
            .filter(|member| !member.is_empty())
        {
            let found = self.accounts().find(|account| account.name == member);
            let account = found.ok_or_else(|| PeopleError::NoMember {
                group: group.to_owned(),
                member: member.to_owned(),
            })?;
            uids.insert(account.uid);
        }
        Ok(uids)
    }

    /// The UID of an account.
    pub fn uid(&self, name: &str) -> Option<u32> {
        self.accounts()
            .find(|account| account.name == name)
            .map(|account| account.uid)
    }

    fn accounts(&self) -> impl Iterator<Item = Account<'_>> {
        self.passwd.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let uid = fields.get(2)?.parse().ok()?;
            Some(Account {
                name: fields.first()?,
                uid,
                gid: fields.get(3)?.parse().ok(),
            })
        })
    }
}

struct Account<'a> {
    name: &'a str,
    uid: u32,
    gid: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> People {
        People::new(
            "root:x:0:0:root:/root:/bin/sh\nada:x:1001:100::/home/ada:/bin/sh\nbob:x:1002:200::/:/bin/sh\nbad line\n",
            "root:x:0:\nusers:x:100:bob\nintake:x:300:ada,bob\nempty:x:400:\nghost:x:500:nobody-here\n",
        )
    }

    #[test]
    fn a_group_is_its_list_and_those_whose_first_group_it_is() {
        assert_eq!(people().members("users").unwrap(), BTreeSet::from([1001, 1002]));
        assert_eq!(people().members("intake").unwrap(), BTreeSet::from([1001, 1002]));
        assert_eq!(people().members("empty").unwrap(), BTreeSet::new());
        assert_eq!(people().uid("bob"), Some(1002));
        assert_eq!(people().uid("bad line"), None);
    }

    #[test]
    fn an_unknown_group_or_member_has_no_answer() {
        assert_eq!(
            people().members("wheel"),
            Err(PeopleError::NoGroup("wheel".to_owned()))
        );
        assert!(matches!(
            people().members("ghost"),
            Err(PeopleError::NoMember { .. })
        ));
    }
}
