//! Answers: a status, one of five content types, a body. In: what a handler decided. Out: a hyper response with the headers
//! every answer carries (exact type, nosniff, no-store, no content may run).
//!
//! Not here: which status a request deserves (the endpoint tables).

use crate::job::{Code, Refusal};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// The words only HTTP says, beside the codes of `job::Code`: (word, one line for `lockgate explain`).
pub const HTTP_WORDS: [(&str, &str); 9] = [
    (
        "not_found",
        "There is no such endpoint, or nothing of that name that you may see.",
    ),
    (
        "wrong_method",
        "The endpoint exists, but takes the method that the answer's Allow header names.",
    ),
    (
        "bad_request",
        "The query string or a path segment is not of the documented form.",
    ),
    (
        "bad_reason",
        "An operator's reason is 1 to 500 characters without control characters.",
    ),
    (
        "wrong_media_type",
        "The body's Content-Type is not one this endpoint takes.",
    ),
    ("too_late", "The job is settled; there is nothing left to cancel."),
    (
        "timeout",
        "The request did not arrive, or was not answered, within its deadline.",
    ),
    (
        "unavailable",
        "A role or the disk does not answer right now; nothing was accepted. Try again.",
    ),
    (
        "internal",
        "A fault of ours, logged once. Nothing is known to have happened.",
    ),
];

/// Integers up to 2^53 are numbers, larger ones strings: JSON readers that use doubles lose no digit (contract 7).
pub fn json_int(value: i64) -> Value {
    const EXACT_MAX: u64 = 1 << 53;
    if value.unsigned_abs() <= EXACT_MAX {
        json!(value)
    } else {
        Value::String(value.to_string())
    }
}

/// Whether a process is fit to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// Fit; paused and frozen count as fit.
    Ok,
    /// Unfit, with one of the contract's reason words.
    Unhealthy(&'static str),
}

/// A "no", always of the shape `{"error":{"code","message","pointer"}}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status} {code}: {message}")]
pub struct ApiError {
    /// HTTP status, 400–599.
    pub status: u16,
    /// A word of `job::Code` or of [`HTTP_WORDS`].
    pub code: &'static str,
    /// One sentence for a person.
    pub message: String,
    /// JSON pointer of the field it concerns; empty for the request as a whole.
    pub pointer: String,
    /// Seconds for the Retry-After header.
    pub retry_after_s: Option<u32>,
    /// For the Allow header.
    pub allow: Option<Method>,
}

impl ApiError {
    /// Any status and word.
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError {
            status,
            code,
            message: message.into(),
            pointer: String::new(),
            retry_after_s: None,
            allow: None,
        }
    }
    /// A refusal of admission's kind: the code decides the status.
    pub fn refused(refusal: &Refusal) -> ApiError {
        let mut error = ApiError::new(
            status_of(refusal.code),
            refusal.code.as_str(),
            refusal.message.clone(),
        );
        error.pointer.clone_from(&refusal.pointer);
        error
    }
    /// A refusal of one field.
    pub fn field(code: Code, pointer: &str, message: impl Into<String>) -> ApiError {
        ApiError::refused(&Refusal::new(code, pointer, message))
    }
    /// 404.
    pub fn not_found(message: impl Into<String>) -> ApiError {
        ApiError::new(404, "not_found", message)
    }
    /// 405: the endpoint takes another method.
    pub fn wrong_method(allow: Method) -> ApiError {
        let mut error = ApiError::new(405, "wrong_method", format!("this endpoint takes {allow}"));
        error.allow = Some(allow);
        error
    }
    /// 400: the query string or a path segment.
    pub fn bad_request(message: impl Into<String>) -> ApiError {
        ApiError::new(400, "bad_request", message)
    }
    /// 403: this peer may not do this here.
    pub fn not_allowed(message: impl Into<String>) -> ApiError {
        ApiError::new(403, Code::NotAllowed.as_str(), message)
    }
    /// 503, worth trying again after a second.
    pub fn unavailable(message: impl Into<String>) -> ApiError {
        ApiError::new(503, "unavailable", message).retry_after(1)
    }
    /// 500, without detail: the fault is logged by who found it.
    pub fn internal() -> ApiError {
        ApiError::new(500, "internal", "a fault inside lockgate; see its log")
    }
    /// The same with a Retry-After header.
    pub fn retry_after(mut self, seconds: u32) -> ApiError {
        self.retry_after_s = Some(seconds);
        self
    }
    /// The body.
    pub fn to_json(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message, "pointer": self.pointer}})
    }
}

/// The status for each kind of refusal: who could do something about it.
fn status_of(code: Code) -> u16 {
    if code == Code::TooLarge {
        413
    } else if code == Code::RateLimited {
        429
    } else if code == Code::Frozen {
        503
    } else if code == Code::IdempotencyConflict {
        409
    } else if code == Code::NotAllowed {
        403
    } else {
        422
    }
}

/// The closed list of content types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One JSON value.
    Json,
    /// One JSON value a line.
    JsonLines,
    /// Metrics.
    OpenMetrics,
    /// Server-sent events.
    Events,
    /// Bytes that are nobody's text.
    Octets,
}

impl Kind {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Kind::Json => "application/json",
            Kind::JsonLines => "application/jsonl",
            Kind::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Kind::Events => "text/event-stream",
            Kind::Octets => "application/octet-stream",
        })
    }
}

/// What goes back to the peer.
#[derive(Debug)]
pub struct Answer {
    status: StatusCode,
    kind: Kind,
    retry_after_s: Option<u32>,
    allow: Option<Method>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Whole(Bytes),
    Stream(mpsc::Receiver<Bytes>),
}

impl Answer {
    fn whole(status: StatusCode, kind: Kind, bytes: Bytes) -> Answer {
        Answer {
            status,
            kind,
            retry_after_s: None,
            allow: None,
            content: Content::Whole(bytes),
        }
    }
    /// 200 with a JSON value.
    pub fn ok(value: &Value) -> Answer {
        Answer::json(StatusCode::OK, value)
    }
    /// 202 with a JSON value.
    pub fn accepted(value: &Value) -> Answer {
        Answer::json(StatusCode::ACCEPTED, value)
    }
    fn json(status: StatusCode, value: &Value) -> Answer {
        Answer::whole(status, Kind::Json, value.to_string().into())
    }
    /// JSON text that a role already made.
    pub fn forwarded(status: u16, json: Bytes) -> Answer {
        Answer::whole(
            StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY),
            Kind::Json,
            json,
        )
    }
    /// One JSON value a line, `status` for the whole.
    pub fn lines(status: u16, lines: &[Value]) -> Answer {
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Answer::whole(status, Kind::JsonLines, text.into())
    }
    /// An OpenMetrics page.
    pub fn metrics(text: String) -> Answer {
        Answer::whole(StatusCode::OK, Kind::OpenMetrics, text.into())
    }
    /// Bytes as they are.
    pub fn octets(bytes: Vec<u8>) -> Answer {
        Answer::whole(StatusCode::OK, Kind::Octets, bytes.into())
    }
    /// Server-sent events, as long as the sender lives.
    pub fn events(receiver: mpsc::Receiver<Bytes>) -> Answer {
        let content = Content::Stream(receiver);
        Answer {
            status: StatusCode::OK,
            kind: Kind::Events,
            retry_after_s: None,
            allow: None,
            content,
        }
    }
    /// Health, without an allocation: it is asked often.
    pub fn health(health: Health) -> Answer {
        match health {
            Health::Ok => Answer::whole(
                StatusCode::OK,
                Kind::Json,
                Bytes::from_static(b"{\"status\":\"ok\"}"),
            ),
            Health::Unhealthy(reason) => Answer::json(
                StatusCode::SERVICE_UNAVAILABLE,
                &json!({"status": "unhealthy", "reason": reason}),
            ),
        }
    }

    /// The hyper response; `busy` is dropped when the body has been handed over or given up.
    pub(super) fn into_response<B>(self, busy: B) -> Response<AnswerBody<B>> {
        let mut response = Response::new(AnswerBody {
            content: Some(self.content),
            busy: Some(busy),
        });
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, self.kind.header());
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'"),
        );
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(Ok(allow)) = self.allow.map(|method| HeaderValue::from_str(method.as_str())) {
            headers.insert(header::ALLOW, allow);
        }
        response
    }
}

impl From<ApiError> for Answer {
    fn from(error: ApiError) -> Answer {
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = Answer::json(status, &error.to_json());
        answer.retry_after_s = error.retry_after_s;
        answer.allow = error.allow;
        answer
    }
}

/// The body of every answer.
#[derive(Debug)]
pub(super) struct AnswerBody<B> {
    content: Option<Content>,
    busy: Option<B>,
}

impl<B: Unpin> Body for AnswerBody<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.content.as_mut() {
            None => Poll::Ready(None),
            Some(Content::Whole(bytes)) if bytes.is_empty() => Poll::Ready(None),
            Some(Content::Whole(bytes)) => Poll::Ready(Some(std::mem::take(bytes))),
            Some(Content::Stream(receiver)) => receiver.poll_recv(cx),
        };
        if matches!(next, Poll::Ready(None)) {
            self.content = None;
            self.busy = None;
        }
        next.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
    fn is_end_stream(&self) -> bool {
        match &self.content {
            None => true,
            Some(Content::Whole(bytes)) => bytes.is_empty(),
            Some(Content::Stream(_)) => false,
        }
    }
    fn size_hint(&self) -> SizeHint {
        match &self.content {
            None => SizeHint::with_exact(0),
            Some(Content::Whole(bytes)) => {
                SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            }
            Some(Content::Stream(_)) => SizeHint::default(),
        }
    }
}
