//! What the service is measured against: axum with the service's own headers and sizes. The paid one also does
//! everything that a paid call cannot do without: decode, verify, mint credentials.

use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::serve::ListenerExt;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use purser::config::{Config, ConfigSources};
use purser::identity::IdentityKeys;
use purser::identity::credentials::CredentialIssuer;
use purser::identity::keys::IdentityKeyRing;
use purser::identity::refresh::RefreshTokenCodec;
use purser::identity::token::IdTokens;
use purser::payment::evm::SignatureRecovery;
use purser::payment::{BasePayee, Payee, SolanaPayee, Terms, decode, payment_header, verify};
use purser::sandbox::keys::fee_payer;
use purser::system::{SystemClock, SystemEntropy};
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{Network, PaymentId, Wallet};
use purser_actors::kernel::to_json;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Clock;

use super::clients::CENTS;
use super::process::Constant;
use crate::Fault;
use crate::usage::own_thread_cpu_us;

struct StubResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

struct StubState {
    challenge: StubResponse,
    /// The body behind the credentials.
    body_after_credentials: String,
    terms: Vec<Terms>,
    credentials: CredentialIssuer,
}

/// Reads its answer from standard input, says where it listens, and serves until it is killed.
pub(crate) fn serve() -> Result<(), Fault> {
    let mut spec = String::new();
    std::io::stdin().read_to_string(&mut spec)?;
    let spec: Constant = serde_json::from_str(&spec)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, router(&spec)?).await?;
        Ok(())
    })
}

fn router(spec: &Constant) -> Result<Router, Fault> {
    let mut headers = HeaderMap::new();
    for (name, value) in &spec.headers {
        headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value)?);
    }
    let page = StubResponse {
        status: StatusCode::from_u16(spec.status)?,
        headers,
        body: Bytes::from(spec.body.clone()),
    };
    Ok(if spec.paid {
        let stub = StubState::new(page, &spec.body)?;
        Router::new().route(&spec.path, get(paid)).with_state(Arc::new(stub))
    } else {
        Router::new()
            .route(&spec.path, get(constant))
            .with_state(Arc::new(page))
    })
}

impl StubResponse {
    fn response(&self, body: Bytes) -> Response {
        let mut response = Response::new(body.into());
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}

async fn constant(State(page): State<Arc<StubResponse>>) -> Response {
    page.response(page.body.clone())
}

impl StubState {
    fn new(page: StubResponse, body: &str) -> Result<Self, Fault> {
        // `{"auth":{…},"user_id":…`: the credentials are the first object.
        let end = body.find('}').ok_or("the service's answer holds no credentials")?;
        let config = Config::load(&ConfigSources::default())?;
        let pay_to = &config.payment.pay_to;
        let (Some(Wallet::Evm(base)), Some(Wallet::Solana(solana))) =
            (pay_to.wallet(Network::Base), pay_to.wallet(Network::Solana))
        else {
            return Err("the defaults name no payee".into());
        };
        let amount = Usdc::from_cents(Cents::new(CENTS))?;
        let seconds = u32::try_from(config.payment.quote_ttl_seconds)?;
        let solana = SolanaPayee::usdc(solana, fee_payer(), None).ok_or("no token account")?;
        let terms = [
            Payee::Base(Arc::new(BasePayee::sandbox(base))),
            Payee::Solana(Arc::new(solana)),
        ];
        let keys = IdentityKeyRing::generate(SystemClock.now(), &SystemEntropy);
        let derived = IdentityKeys::derive(&keys);
        Ok(Self {
            challenge: page,
            body_after_credentials: body[end + 1..].to_owned(),
            terms: terms.map(|payee| Terms::new(amount, seconds, payee)).into(),
            credentials: CredentialIssuer {
                tokens: Arc::new(IdTokens::new(&keys, "http://127.0.0.1:8402", "purser", 1)),
                refresh: RefreshTokenCodec::new(&derived.refresh),
                clock: Arc::new(SystemClock),
                entropy: Arc::new(SystemEntropy),
                session_ttl_ms: 1,
            },
        })
    }
}

/// One check of a signed payment, measured alone, in microseconds of processor time. The sandbox's chain makes it a
/// second time, with code of its own.
pub(crate) fn signature_check_us(spec: &Constant, request: &[u8]) -> Result<f64, Fault> {
    const CHECKS: u32 = 2_000;
    let page = StubResponse {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: Bytes::new(),
    };
    let stub = StubState::new(page, &spec.body)?;
    let text = std::str::from_utf8(request)?;
    let header = text.lines().find_map(|line| line.strip_prefix("PAYMENT-SIGNATURE: "));
    let payment = decode(header.ok_or("no payment")?.as_bytes())?;
    let now = SystemClock.now();
    let before = own_thread_cpu_us();
    for _ in 0..CHECKS {
        verify(&payment, &stub.terms, &[], now, SignatureRecovery::Libsecp256k1)?;
    }
    Ok((own_thread_cpu_us() - before) / f64::from(CHECKS))
}

async fn paid(State(stub): State<Arc<StubState>>, headers: HeaderMap) -> Response {
    let verified = payment_header(&headers).ok().flatten().and_then(|header| {
        let payment = decode(header).ok()?;
        verify(
            &payment,
            &stub.terms,
            &[],
            SystemClock.now(),
            SignatureRecovery::Libsecp256k1,
        )
        .ok()
    });
    let Some(verified) = verified else {
        let mut refused = Response::new("the stub refuses this payment".into());
        *refused.status_mut() = StatusCode::PAYMENT_REQUIRED;
        return refused;
    };
    let payer = verified.authorization.payer();
    let session = stub.credentials.new_session(&payer);
    let auth = stub
        .credentials
        .issue(&payer, session.id, AuthMethod::Payment(PaymentId(1)), 0);
    let body = format!("{{\"auth\":{}{}", to_json(&auth), stub.body_after_credentials);
    stub.challenge.response(Bytes::from(body))
}
