-- One role's ledger: the truth about its jobs. Times are integer milliseconds; hashes are 32 raw bytes.
PRAGMA application_id = 1818978164;

CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 64),
  value TEXT NOT NULL CHECK (length(value) <= 4096)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  seq                INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id             TEXT NOT NULL UNIQUE CHECK (length(job_id) = 36),
  kind               TEXT NOT NULL CHECK (kind IN ('C5_SAVE_OBJECT', 'C5_DELETE_OBJECT')),
  uid                INTEGER NOT NULL,
  via                TEXT NOT NULL CHECK (via IN ('drop', 'gateway')),
  digest             BLOB NOT NULL CHECK (length(digest) = 32),
  body               BLOB NOT NULL CHECK (length(body) <= 65536),
  idempotency_key    TEXT NOT NULL UNIQUE CHECK (length(idempotency_key) = 36),
  idempotency_digest BLOB NOT NULL CHECK (length(idempotency_digest) = 32),
  mission_id         TEXT NOT NULL CHECK (length(mission_id) = 36),
  object_id          TEXT NOT NULL CHECK (length(object_id) <= 256),
  vault_path         TEXT NOT NULL CHECK (length(vault_path) <= 1024),
  commit_id          TEXT NOT NULL CHECK (length(commit_id) IN (40, 64)),
  provenance         BLOB NOT NULL CHECK (length(provenance) = 32),
  approval_id        TEXT CHECK (length(approval_id) = 36),
  created_at         TEXT NOT NULL CHECK (length(created_at) <= 32),
  admitted_ms        INTEGER NOT NULL,
  -- above: never changes; below: where the job stands
  state              TEXT NOT NULL CHECK (state IN ('READY', 'CLAIMED', 'EXECUTING', 'SUCCEEDED', 'FAILED', 'REJECTED', 'OUTCOME_UNKNOWN')),
  -- why a READY job may not be claimed yet; NULL: it may
  hold               TEXT CHECK (hold IN ('approval', 'retry', 'fence')),
  due_boot_id        TEXT CHECK (length(due_boot_id) <= 64),
  due_boot_ms        INTEGER,
  due_wall_ms        INTEGER,
  due_delay_ms       INTEGER,
  attempt            INTEGER NOT NULL DEFAULT 0 CHECK (attempt BETWEEN 0 AND 1000000),
  lease_token        TEXT CHECK (length(lease_token) = 36),
  lease_worker       TEXT CHECK (length(lease_worker) = 36),
  lease_boot_id      TEXT CHECK (length(lease_boot_id) <= 64),
  lease_until_ms     INTEGER,
  before_sha256      BLOB CHECK (length(before_sha256) IN (0, 32)),
  new_sha256         BLOB CHECK (length(new_sha256) = 32),
  sent_ms            INTEGER,
  code               TEXT CHECK (length(code) <= 64),
  detail             TEXT CHECK (length(detail) <= 128),
  message            TEXT CHECK (length(message) <= 512),
  last_worker        TEXT CHECK (length(last_worker) = 36),
  last_lease         TEXT CHECK (length(last_lease) = 36),
  self_settled_ms    INTEGER,
  updated_ms         INTEGER NOT NULL,
  settled_ms         INTEGER
) STRICT;

-- The live queue only: a claim costs the same at ten or at ten million settled jobs.
CREATE INDEX jobs_ready ON jobs (seq) WHERE state = 'READY' AND hold IS NULL;
CREATE INDEX jobs_waiting_retry ON jobs (due_boot_id, due_boot_ms) WHERE state = 'READY' AND hold = 'retry';
CREATE INDEX jobs_waiting_fence ON jobs (vault_path, seq) WHERE state = 'READY' AND hold = 'fence';
CREATE INDEX jobs_waiting_approval ON jobs (admitted_ms) WHERE state = 'READY' AND hold = 'approval';
CREATE INDEX jobs_ready_all ON jobs (seq) WHERE state = 'READY';
CREATE INDEX jobs_ready_by_approval ON jobs (approval_id, seq) WHERE state = 'READY' AND approval_id IS NOT NULL;
CREATE INDEX jobs_leased ON jobs (lease_worker, seq) WHERE state IN ('CLAIMED', 'EXECUTING');
CREATE INDEX jobs_unknown ON jobs (seq) WHERE state = 'OUTCOME_UNKNOWN';
CREATE INDEX jobs_failed ON jobs (seq) WHERE state = 'FAILED';
CREATE INDEX jobs_rejected ON jobs (seq) WHERE state = 'REJECTED';
CREATE INDEX jobs_by_digest ON jobs (digest);

-- Who holds a path within this role: claimed, executing, unknown, or a SAVE that waits to retry after it sent something.
CREATE TABLE fences (
  vault_path TEXT NOT NULL PRIMARY KEY CHECK (length(vault_path) <= 1024),
  job_seq    INTEGER NOT NULL UNIQUE REFERENCES jobs (seq)
) STRICT, WITHOUT ROWID;

-- What this ledger knows about a path: the bytes it last wrote there, or what an operator adopted. NULL: absence.
CREATE TABLE paths (
  vault_path     TEXT NOT NULL PRIMARY KEY CHECK (length(vault_path) <= 1024),
  saved_sha256   BLOB CHECK (length(saved_sha256) = 32),
  saved_commit   TEXT CHECK (length(saved_commit) IN (40, 64)),
  adopted        INTEGER NOT NULL DEFAULT 0 CHECK (adopted IN (0, 1)),
  adopted_sha256 BLOB CHECK (length(adopted_sha256) = 32),
  updated_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
  approval_id    TEXT NOT NULL PRIMARY KEY CHECK (length(approval_id) = 36),
  payload        BLOB NOT NULL CHECK (length(payload) <= 65536),
  state          TEXT NOT NULL CHECK (state IN ('RECEIVED', 'VERIFIED', 'RESERVED', 'EXECUTED', 'CONSUMED', 'WITHDRAWN', 'EXPIRED', 'VOID')),
  issued_ms      INTEGER NOT NULL,
  expires_ms     INTEGER NOT NULL,
  epoch          INTEGER NOT NULL,
  job_id         TEXT CHECK (length(job_id) = 36),
  received_ms    INTEGER NOT NULL,
  updated_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE signatures (
  approval_id   TEXT NOT NULL REFERENCES approvals (approval_id),
  key_id        TEXT NOT NULL CHECK (length(key_id) <= 128),
  scheme        TEXT NOT NULL CHECK (scheme IN ('sshsig', 'ed25519')),
  signature     TEXT NOT NULL CHECK (length(signature) <= 8192),
  uid           INTEGER NOT NULL,
  received_ms   INTEGER NOT NULL,
  PRIMARY KEY (approval_id, key_id)
) STRICT, WITHOUT ROWID;

-- For ever: a nonce never repeats, whatever becomes of its approval.
CREATE TABLE nonces (
  nonce       TEXT NOT NULL PRIMARY KEY CHECK (length(nonce) = 64),
  approval_id TEXT NOT NULL CHECK (length(approval_id) = 36)
) STRICT, WITHOUT ROWID;

CREATE TABLE withdrawals (
  approval_id  TEXT NOT NULL PRIMARY KEY CHECK (length(approval_id) = 36),
  withdrawn_at TEXT NOT NULL CHECK (length(withdrawn_at) <= 32),
  principal    TEXT NOT NULL CHECK (length(principal) <= 256),
  received_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Documents that never became a job, and accepted documents that are not jobs. Bounded: the oldest go first.
CREATE TABLE submissions (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  uid       INTEGER NOT NULL,
  digest    BLOB NOT NULL CHECK (length(digest) = 32),
  accepted  INTEGER NOT NULL CHECK (accepted IN (0, 1)),
  code      TEXT CHECK (length(code) <= 64),
  pointer   TEXT CHECK (length(pointer) <= 256),
  message   TEXT CHECK (length(message) <= 512),
  subject   TEXT CHECK (length(subject) <= 64),
  -- the document's own job_id, where another job answers it
  asked     TEXT CHECK (length(asked) = 36),
  times     INTEGER NOT NULL DEFAULT 1,
  at_ms     INTEGER NOT NULL,
  UNIQUE (uid, digest)
) STRICT;

CREATE INDEX submissions_by_asked ON submissions (asked, uid) WHERE asked IS NOT NULL;

CREATE TABLE audit (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms       INTEGER NOT NULL,
  job_seq     INTEGER,
  job_id      TEXT CHECK (length(job_id) = 36),
  mission_id  TEXT CHECK (length(mission_id) = 36),
  job_type    TEXT CHECK (length(job_type) <= 32),
  object_id   TEXT CHECK (length(object_id) <= 256),
  kind        TEXT NOT NULL CHECK (kind IN ('REQUESTED', 'AUTHORIZED', 'SENT', 'EXECUTED', 'SETTLED', 'REFUSED', 'OPERATOR')),
  from_state  TEXT CHECK (length(from_state) <= 16),
  to_state    TEXT CHECK (length(to_state) <= 16),
  worker      TEXT CHECK (length(worker) <= 36),
  attempt     INTEGER,
  code        TEXT CHECK (length(code) <= 64),
  approval_id TEXT CHECK (length(approval_id) = 36),
  uid         INTEGER,
  provenance  BLOB CHECK (length(provenance) = 32),
  note        TEXT CHECK (length(note) <= 1024),
  prev_hash   BLOB NOT NULL CHECK (length(prev_hash) = 32),
  hash        BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE INDEX audit_by_job ON audit (job_seq) WHERE job_seq IS NOT NULL;

-- Events, written in the transaction that settles; forwarded by the relay.
CREATE TABLE outbox (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id       TEXT NOT NULL UNIQUE CHECK (length(event_id) = 36),
  type           TEXT NOT NULL CHECK (length(type) <= 64),
  aggregate_type TEXT NOT NULL CHECK (length(aggregate_type) <= 32),
  aggregate_id   TEXT NOT NULL CHECK (length(aggregate_id) <= 64),
  correlation_id TEXT CHECK (length(correlation_id) = 36),
  payload        TEXT NOT NULL CHECK (length(payload) <= 16384),
  occurred_ms    INTEGER NOT NULL,
  epoch          INTEGER NOT NULL,
  void           INTEGER NOT NULL DEFAULT 0 CHECK (void IN (0, 1))
) STRICT;

-- Maintained in the transaction that changes a state; never counted by scanning.
CREATE TABLE counts (
  name  TEXT NOT NULL CHECK (length(name) <= 32),
  label TEXT NOT NULL CHECK (length(label) <= 64),
  n     INTEGER NOT NULL,
  PRIMARY KEY (name, label)
) STRICT, WITHOUT ROWID;

-- Live jobs and bytes of each requester, for limits.
CREATE TABLE requesters (
  uid       INTEGER NOT NULL PRIMARY KEY,
  live_jobs INTEGER NOT NULL,
  live_bytes INTEGER NOT NULL
) STRICT;

CREATE TRIGGER jobs_transition BEFORE UPDATE OF state ON jobs
WHEN NOT (
     (OLD.state = 'READY' AND NEW.state = 'CLAIMED')
  OR (OLD.state = 'READY' AND NEW.state = 'REJECTED')
  OR (OLD.state = 'READY' AND NEW.state = 'FAILED' AND OLD.kind = 'C5_SAVE_OBJECT')
  OR (OLD.state = 'CLAIMED' AND NEW.state = 'FAILED' AND OLD.kind = 'C5_SAVE_OBJECT')
  OR (OLD.state = 'CLAIMED' AND NEW.state = 'EXECUTING')
  OR (OLD.state = 'CLAIMED' AND NEW.state = 'REJECTED')
  OR (OLD.state = 'CLAIMED' AND NEW.state = 'READY')
  OR (OLD.state = 'CLAIMED' AND NEW.state = 'OUTCOME_UNKNOWN' AND OLD.kind = 'C5_DELETE_OBJECT')
  OR (OLD.state = 'EXECUTING' AND NEW.state = 'EXECUTING' AND OLD.kind = 'C5_SAVE_OBJECT')
  OR (OLD.state = 'EXECUTING' AND NEW.state = 'READY' AND OLD.kind = 'C5_SAVE_OBJECT')
  OR (OLD.state = 'EXECUTING' AND NEW.state = 'SUCCEEDED')
  OR (OLD.state = 'EXECUTING' AND NEW.state = 'FAILED')
  OR (OLD.state = 'EXECUTING' AND NEW.state = 'REJECTED')
  OR (OLD.state = 'EXECUTING' AND NEW.state = 'OUTCOME_UNKNOWN')
  OR (OLD.state = 'OUTCOME_UNKNOWN' AND NEW.state = 'SUCCEEDED')
  OR (OLD.state = 'OUTCOME_UNKNOWN' AND NEW.state = 'FAILED')
  OR (OLD.state = 'OUTCOME_UNKNOWN' AND NEW.state = 'READY' AND (OLD.kind = 'C5_SAVE_OBJECT' OR OLD.detail IS 'not_started'))
)
BEGIN SELECT RAISE(ABORT, 'illegal transition'); END;

CREATE TRIGGER jobs_born_ready BEFORE INSERT ON jobs
WHEN NEW.state <> 'READY'
BEGIN SELECT RAISE(ABORT, 'a job starts READY'); END;

CREATE TRIGGER jobs_fixed BEFORE UPDATE OF seq, job_id, kind, uid, via, digest, body, idempotency_key, idempotency_digest, mission_id,
  object_id, vault_path, commit_id, provenance, approval_id, created_at, admitted_ms ON jobs
BEGIN SELECT RAISE(ABORT, 'the fields of an admitted job never change'); END;

CREATE TRIGGER jobs_kept BEFORE DELETE ON jobs
BEGIN SELECT RAISE(ABORT, 'an admitted job is never deleted'); END;

CREATE TRIGGER approvals_spent_once BEFORE UPDATE OF state ON approvals
WHEN OLD.state IN ('CONSUMED', 'WITHDRAWN', 'VOID')
  OR (OLD.state = 'RESERVED' AND NEW.state NOT IN ('EXECUTED', 'CONSUMED'))
  OR (OLD.state = 'EXECUTED' AND NEW.state <> 'CONSUMED')
BEGIN SELECT RAISE(ABORT, 'an approval is spent at most once'); END;

CREATE TRIGGER nonces_kept BEFORE DELETE ON nonces
BEGIN SELECT RAISE(ABORT, 'a nonce is kept for ever'); END;

CREATE TRIGGER audit_append_only_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

CREATE TRIGGER audit_append_only_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
