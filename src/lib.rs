//! lockgate: privileged work on one host for requesters that hold no key.
//!
//! A requester brings a document to the first gate. A role, under a user of its own, decides behind the second gate whether
//! it becomes an effect on the vault. A delete needs a signature from a human key that is not on the host. A crash at any
//! instant loses nothing, repeats nothing and never guesses: where nobody knows what happened, the job says so and waits for
//! a person.
//!
//! ```text
//! requester ──▶ drop/ or gateway ──▶ intake ──▶ admission ──▶ ledger ──▶ executor ──▶ roles ──▶ target ──▶ the vault
//!  untrusted     one bounded file                pure gate    inbox.db    claims,      plan,     the only
//!                                                             the truth   drives       pure      outward effect
//!                                                                ▲                                  │ answer
//!                                                                └────────── settlement ◀───────────┘
//!                                                   one transaction: state + audit + receipt + event
//!
//! approver ──▶ envelope ──▶ approval (verdict) ──▶ ledger ──▶ spent (never again) ──▶ the one delete
//! source   ──▶ re-hashed bytes and provenance ──▶ roles
//! ```
//!
//! # Rooms, in reading order
//!
//! Each room's first page says what goes in, what comes out and what is not there. A room imports only rooms above it, and of
//! those only the ones named in its line; `tests/tidy.rs` holds both.
//!
//! | room | what it is | may import |
//! |---|---|---|
//! | [`exit`] | the exit statuses | — |
//! | [`clock`] | the only reader of time | — |
//! | [`failpoint`] | crash points between durable steps; compiled into test builds only | — |
//! | [`job`] | the vocabulary: ids, paths, documents, states, codes, receipts; bytes become types that cannot hold bad data | clock |
//! | [`throttle`] | token bucket, breaker, retry delays as plain values | clock |
//! | [`durable`] | small files that survive a power cut whole | job failpoint |
//! | [`workers`] | proof of life of a role's processes | job |
//! | [`epoch`] | the file that says what the database must at least contain | job durable failpoint |
//! | [`credentials`] | secrets handed over, read once, wiped | job durable |
//! | [`keyring`] | sealing with a key for one purpose | credentials |
//! | [`sqlite`] | the only door to SQLite: pragmas, one writer thread, readers, migrations | failpoint |
//! | [`config`] | from files to checked settings, every problem at once | job |
//! | [`approval`] | envelopes, signatures, approvers, quorum; verdicts only | job clock |
//! | [`signing`] | the only code that signs; not in the packaged daemon | approval job clock |
//! | [`admission`] | the gate at the door: bytes and facts → admit or refuse; pure | job approval |
//! | [`intake`] | drop directories, read without trusting anything in them | job clock throttle failpoint |
//! | [`fence`] | a hold on a path across roles | job durable failpoint |
//! | [`spent`] | the log of approvals that can never be used again | job clock durable failpoint |
//! | [`recovery`] | sealed copies of what is about to be deleted | job clock durable failpoint keyring |
//! | [`source`] | where objects come from, re-hashed from commit to blob | job |
//! | [`target`] | the only outward effects: the vault | job failpoint |
//! | [`ledger`] | inbox.db: the truth about one role's jobs | sqlite job clock throttle approval admission |
//! | [`roles`] | what a role decides before it acts; pure | job source target ledger |
//! | [`settlement`] | what an answer means for a job: the failure table; pure | job target ledger throttle |
//! | [`http`] | HTTP on unix sockets: staged requests, bounded answers, a client | job |
//! | [`executor`] | drives one role: intake, claim, verify, execute, settle | admission approval clock config epoch exit failpoint fence http intake job ledger recovery roles settlement source spent sqlite target throttle workers |
//! | [`gateway`] | the requesters' gate; no credential, no database | job clock intake throttle http failpoint |
//! | [`daemon`] | wiring: start order, self-checks, sockets, signals, drain | admission approval clock config credentials durable epoch executor exit failpoint fence gateway http intake job keyring ledger recovery source spent sqlite target throttle workers |
//! | [`cli`] | the command line, one file a verb | admission approval clock config credentials daemon durable exit failpoint fence gateway http intake job ledger signing source target workers |
//!
//! `main.rs` hardens the process and hands over to [`cli`]; `bin/lockgate-sign` is the approver's program.
//!
//! # Words
//!
//! *job* what a requester asked for · *intake* reading drop files · *admission* the gate at the door · *refusal* a document
//! that never became a job · *claim* a lease on a job · *attempt* one claimed try · *outcome* what the target said ·
//! *settlement* what we recorded · *receipt* what the requester is told · *event* what anyone may be told · *fence* a hold on a
//! path · *approval* a human signature over one exact delete · *maintenance* timed housekeeping (never "job").
//!
//! ARCHITECTURE.md has the trust zones, the invariants with their tests, and where this departs from its design.
//!
//! Not here: any code.

pub mod admission;
pub mod approval;
pub mod cli;
pub mod clock;
pub mod config;
pub mod credentials;
pub mod daemon;
pub mod durable;
pub mod epoch;
pub mod executor;
pub mod exit;
pub mod failpoint;
pub mod fence;
pub mod gateway;
pub mod http;
pub mod intake;
pub mod job;
pub mod keyring;
pub mod ledger;
pub mod recovery;
pub mod roles;
pub mod settlement;
#[cfg(feature = "signing")]
pub mod signing;
pub mod source;
pub mod spent;
pub mod sqlite;
pub mod target;
pub mod throttle;
pub mod workers;
