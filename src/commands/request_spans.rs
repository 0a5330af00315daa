//! The span of a request, which names it in log lines. It exists only while a line is written.
//!
//! Opening a span for every request cost more than all checks of the front, and most requests write no line. So the
//! running task knows its request (`request_context`), and the subscriber opens the span around each line.

use purser_actors::kernel::request_context;
use tracing::callsite::{Callsite, Identifier};
use tracing::field::{FieldSet, Value, display};
use tracing::level_filters::LevelFilter;
use tracing::metadata::Kind;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber};
use tracing::{Dispatch, Event, Level, Metadata};

use crate::edge::request_id::RequestId;

/// Where spans of requests come from, as the macros of `tracing` would declare it.
struct RequestSpan;

static SPAN: RequestSpan = RequestSpan;
/// Filters know it under this target. It is an error's level, so that every line has it.
static METADATA: Metadata<'static> = Metadata::new(
    "request",
    "purser_edge::front",
    Level::ERROR,
    None,
    None,
    None,
    FieldSet::new(&["id"], Identifier(&SPAN)),
    Kind::SPAN,
);

impl Callsite for RequestSpan {
    /// The filter is asked at each line instead.
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        &METADATA
    }
}

/// A subscriber that writes each line of a request inside the request's span. Everything else passes, except questions
/// for the current span, which has no caller here.
pub(super) struct RequestSpans<S>(S);

impl<S: Subscriber> RequestSpans<S> {
    pub(super) fn new(inner: S) -> Self {
        inner.register_callsite(&METADATA);
        Self(inner)
    }

    fn open(&self, request: RequestId) -> Option<Id> {
        let fields = METADATA.fields();
        let (field, id) = (fields.field("id")?, display(request));
        let values = [(&field, Some(&id as &dyn Value))];
        let values = fields.value_set(&values);
        Some(self.0.new_span(&Attributes::new(&METADATA, &values)))
    }
}

impl<S: Subscriber> Subscriber for RequestSpans<S> {
    fn event(&self, event: &Event<'_>) {
        let request = request_context::request_of_lines().filter(|_| self.0.enabled(&METADATA));
        let Some(span) = request.and_then(|id| self.open(RequestId(id.0))) else {
            return self.0.event(event);
        };
        self.0.enter(&span);
        self.0.event(event);
        self.0.exit(&span);
        self.0.try_close(span);
    }

    fn on_register_dispatch(&self, dispatch: &Dispatch) {
        self.0.on_register_dispatch(dispatch);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        self.0.register_callsite(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        self.0.max_level_hint()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn event_enabled(&self, event: &Event<'_>) -> bool {
        self.0.event_enabled(event)
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.0.new_span(attributes)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.0.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.0.record_follows_from(span, follows);
    }

    fn enter(&self, span: &Id) {
        self.0.enter(span);
    }

    fn exit(&self, span: &Id) {
        self.0.exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.0.clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        self.0.try_close(span)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock())).unwrap()
        }
    }

    fn id(n: u128) -> purser_actors::id::RequestId {
        purser_actors::id::RequestId(n)
    }

    /// Writes lines in and outside of requests.
    fn log() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            tracing::warn!("outside");
            let request = request_context::in_request(id(10), async {
                tracing::warn!(cents = 5, "asked");
                tracing::debug!("filtered");
                // A task of its own, as an engine's call.
                let continued = request_context::continue_request(async { tracing::info!("claimed") });
                tokio::spawn(continued).await.unwrap();
                // A task without the request.
                tokio::spawn(async { tracing::info!("other") }).await.unwrap();
            });
            let other = request_context::in_request(id(11), async { tracing::warn!("asked") });
            tokio::join!(request, other);
            let job = request_context::with_request(id(10), async {
                assert_eq!(request_context::current_request(), id(10));
                tracing::warn!("attempt");
            });
            job.await;
            tracing::warn!("outside");
        });
    }

    /// What [`log`] writes under this filter, as plain text.
    fn plain_lines(filter: &str) -> String {
        let lines = Lines::default();
        let plain = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(filter))
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .with_writer(lines.clone());
        tracing::subscriber::with_default(RequestSpans::new(plain.finish()), log);
        lines.text()
    }

    // Checks: exactly the lines of a request name it, also those of tasks that continue it. A job's lines, which name its
    // request themselves, and lines of other tasks do not.
    #[test]
    fn lines_of_a_request_name_it() {
        let text = plain_lines("info");
        let (first, second) = (
            "request{id=req_0000000000000000000000000000000a}:",
            "request{id=req_0000000000000000000000000000000b}:",
        );
        let expected = [
            " WARN outside".to_owned(),
            format!(" WARN {first} asked cents=5"),
            format!(" WARN {second} asked"),
            format!(" INFO {first} claimed"),
            " INFO other".to_owned(),
            " WARN attempt".to_owned(),
            " WARN outside".to_owned(),
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    // Checks: in JSON the span has the form that it had when it was open all the time.
    #[test]
    fn json_lines_have_the_span() {
        let lines = Lines::default();
        let json = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("warn"))
            .without_time()
            .with_target(false)
            .with_writer(lines.clone())
            .json()
            .flatten_event(true);
        tracing::subscriber::with_default(RequestSpans::new(json.finish()), log);
        let span = r#"{"id":"req_0000000000000000000000000000000a","name":"request"}"#;
        let asked = format!(r#"{{"level":"WARN","message":"asked","cents":5,"span":{span},"spans":[{span}]}}"#);
        let text = lines.text();
        assert_eq!(text.lines().nth(1), Some(asked.as_str()), "{text}");
        assert_eq!(text.lines().next(), Some(r#"{"level":"WARN","message":"outside"}"#));
    }

    // Checks: a filter that turns off the front's spans is obeyed.
    #[test]
    fn filter_can_turn_the_span_off() {
        assert!(!plain_lines("warn,purser_edge=off").contains("request{"));
    }
}
