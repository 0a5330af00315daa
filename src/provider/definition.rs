//! [`provider!`]: one definition of a provider's operations, from which its trait, client, server and part of the
//! document come.

/// Defines a provider. An operation is a method of the trait, with its form in the protocol:
///
/// ```ignore
/// provider! {
///     /// Sells gift cards.
///     trait GiftCardApi, client RemoteGiftCards, tag "Gift cards";
///     /// Places an order, or queries it: with the same key both are the same call.
///     fn order(order: &'a GiftCardOrderRequest) -> GiftCardOrderStatus {
///         POST "/gift-card-orders" orderGiftCard "Order a gift card, or query an order";
///         key key = order.key, "The same key never creates a second gift card.";
///         asks body it: GiftCardOrderRequest = order;
///         calls (&GiftCardOrderRequest { key, ..it });
///         answers GiftCardOrderResponse { order = order.without_key(); state } "Result of the order.";
///         check |status| status.check();
///     }
/// }
/// ```
///
/// generates
/// - `trait GiftCardApi` with
///   `fn order<'a>(&'a self, order: &'a GiftCardOrderRequest) -> PortFuture<'a, GiftCardOrderStatus>`. A port of the engine
///   already has its trait: it is named without `trait`, and only the rest is generated;
/// - `RemoteGiftCards(pub RemoteClient)`, which sends `order` as the body and `order.key` as the key. A response whose
///   `order` is not `order.without_key()`, or whose value fails `check`, leaves the outcome unknown. `absent` is the
///   value if the settings name no such provider;
/// - `routes(&Arc<dyn GiftCardApi>)`, which reads `it` and `key`, calls `order(&GiftCardOrderRequest { key, ..it })`,
///   and answers `GiftCardOrderResponse { order, state }`;
/// - `describe`, the operation's entry in the document, under the feature `documents`.
///
/// `also` adds methods to the trait that are no operations, and `remote` the client's implementation of them.
///
/// `at name = value, "…";` is a parameter in the path, and `asks query` are the query parameters. `answers` names the
/// response type. Alone, it is converted to and from the value by `From` and `TryFrom`. `{ fields; state }` are the
/// fields that it repeats of the request, and the field with the value. `{ fields; }` is a confirmation without a value.
/// `{ fields; .. }` is made by `of(value, fields)`; then `field in part` is a field of that part of the response.
macro_rules! provider {
    ($(#[$doc:meta])* trait $port:ident, client $client:ident, tag $tag:literal;
    $($(#[$op_doc:meta])* fn $name:ident($($arg:ident: $ty:ty),*) -> $value:ty { $($wire:tt)* })*
    $(also { $($also:tt)* })?
    $(remote { $($own:tt)* })?) => {
        $(#[$doc])*
        pub trait $port: Send + Sync {
            $($(#[$op_doc])* fn $name<'a>(&'a self, $($arg: $ty),*) -> purser_actors::port::PortFuture<'a, $value>;)*
            $($($also)*)?
        }
        provider! { port $port, client $client, tag $tag; $(fn $name($($arg: $ty),*) -> $value { $($wire)* })* $(remote { $($own)* })? }
    };
    (port $port:path, client $client:ident, tag $tag:literal; $(fn $name:ident($($arg:ident: $ty:ty),*) -> $value:ty {
        $method:ident $path:literal $id:ident $summary:literal;
        $(at $place:ident = $at:expr, $place_doc:expr;)*
        $(key $key:ident = $key_of:expr, $key_doc:literal;)?
        $(asks $kind:ident $it:ident: $asked:ty = $make:expr;)?
        calls ($($pass:expr),*);
        $(absent $absent:expr;)?
        answers $response:ident $({ $($echo:ident $(in $part:ident)? = $named:expr),*; $($rest:tt)* })? $response_doc:literal;
        $(check |$checked:ident| $check:expr;)?
    })* $(remote { $($own:tt)* })?) => {
        /// The same provider over HTTP.
        pub struct $client(pub $crate::remote::RemoteClient);

        impl $port for $client {
            $(fn $name<'a>(&'a self, $($arg: $ty),*) -> purser_actors::port::PortFuture<'a, $value> {
                use $crate::remote::{self, Method};
                const CALL: &str = stringify!($id);
                Box::pin(async move {
                    $(if !self.0.is_configured() { return Ok($absent); })?
                    let call = self.0.call(Method::$method, CALL, $path, &[$((stringify!($place), $at.to_string())),*])?;
                    let call = call$(.key($key_of))?$(.$kind(&$make))?;
                    let response: $response = call.send().await?;
                    // A response that does not repeat the order is about another one.
                    $($(remote::same(CALL, response$(.$part)?.$echo == $named)?;)*)?
                    let read: $value = remote::value(CALL, provider!(@take $response response [$($($echo),*)?] [$($($rest)*)?]))?;
                    $({ let $checked = &read; remote::value(CALL, $check)?; })?
                    Ok(read)
                })
            })*
            $($($own)*)?
        }

        pub(crate) fn routes(port: &std::sync::Arc<dyn $port>) -> axum::Router {
            use $crate::server::{Call, Failure, on, reply};
            let router = axum::Router::new();
            $(let port_of_it = port.clone();
            let router = router.route($path, on(stringify!($method), move |request| {
                let port = port_of_it.clone();
                Box::pin(async move {
                    #[allow(unused_mut, unused_variables, reason = "not every operation has a key, parameters or a body")]
                    let mut call = Call::read(request).await;
                    $(let $place: String = call.at(stringify!($place))?;)*
                    $(let $key = call.key()?;)?
                    $(let $it: $asked = call.$kind().await?;)?
                    $(let $arg = $pass;)*
                    let named = ($($($named,)*)?);
                    let value = port.$name($($arg),*).await.map_err(|e| call.failed(e))?;
                    let ($($($echo,)*)?) = named;
                    Ok::<_, Failure>(reply(provider!(@make $response value [$($($echo),*)?] [$($($rest)*)?])))
                })
            }));)*
            router
        }

        #[cfg(feature = "documents")]
        pub(crate) fn describe(document: &mut $crate::document::Operations) {
            $(document.operation(stringify!($method), $path, stringify!($id), $tag, $summary)
                $(.at(stringify!($place), $place_doc))*$(.key($key_doc))?$(.$kind::<$asked>())?
                .answers::<$response>($response_doc);)*
        }
    };
    (@take $response:ident $from:ident [] []) => { $from.try_into() };
    (@take $response:ident $from:ident [$($echo:ident),*] [..]) => { $from.try_into() };
    (@take $response:ident $from:ident [$($echo:ident),*] [$state:ident]) => { $from.$state.try_into() };
    (@take $response:ident $from:ident [$($echo:ident),*] []) => { Ok::<(), $crate::wire::MalformedResponse>(()) };
    (@make $response:ident $value:ident [] []) => { $response::from($value) };
    (@make $response:ident $value:ident [$($echo:ident),*] [..]) => { $response::of($value, $($echo),*) };
    (@make $response:ident $value:ident [$($echo:ident),*] [$state:ident]) => { $response { $($echo,)* $state: $value.into() } };
    (@make $response:ident $value:ident [$($echo:ident),*] []) => {{ let () = $value; $response { $($echo),* } }};
}
pub(crate) use provider;

/// Writes the conversions between a type of the protocol and one of the engine, each form once. `list` is for a list of
/// values that convert.
///
/// ```ignore
/// conversions! {
///     MintStatus = MintResult {
///         MintStatus::NonceUsed = (MintResult::NonceUsed);
///         MintStatus::Declined { reason, message } = (MintResult::Declined(Decline { reason, message }));
///     }
///     list BankDepositList { deposits } = IncomingTransfer;
/// }
/// // becomes
/// impl From<MintResult> for MintStatus { … MintResult::NonceUsed => MintStatus::NonceUsed, … }
/// impl From<MintStatus> for MintResult { … MintStatus::NonceUsed => MintResult::NonceUsed, … }
/// impl From<Vec<IncomingTransfer>> for BankDepositList { … }
/// impl From<BankDepositList> for Vec<IncomingTransfer> { … }
/// ```
macro_rules! conversions {
    () => {};
    (list $list:ident { $items:ident } = $item:ty; $($rest:tt)*) => {
        impl From<Vec<$item>> for $list {
            fn from(items: Vec<$item>) -> Self {
                let $items = items.into_iter().map(Into::into).collect();
                Self { $items }
            }
        }

        impl From<$list> for Vec<$item> {
            fn from(list: $list) -> Self {
                list.$items.into_iter().map(Into::into).collect()
            }
        }

        conversions! { $($rest)* }
    };
    ($ours:ty = $engine:ty { $($($form:ident)::+ $({ $($fields:tt)* })? = ($($value:tt)+);)+ } $($rest:tt)*) => {
        impl From<$engine> for $ours {
            fn from(value: $engine) -> Self {
                match value {
                    $($($value)+ => $($form)::+ $({ $($fields)* })?,)+
                }
            }
        }

        impl From<$ours> for $engine {
            fn from(value: $ours) -> Self {
                match value {
                    $($($form)::+ $({ $($fields)* })? => $($value)+,)+
                }
            }
        }

        conversions! { $($rest)* }
    };
}
pub(crate) use conversions;
