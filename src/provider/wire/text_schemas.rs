//! Schemas of values that are text with a pattern.

use std::borrow::Cow;

use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};

/// Schema of an amount in dollars or another currency with two decimal places, as text: `5`, `5.2` or `5.25`.
pub struct DecimalAmount;

/// Schema of an amount of USDC with up to six decimal places.
pub struct UsdcAmount;

/// Schema of a secret: a card number, a CVV, a code.
pub struct SecretText;

/// Schema of a text with a pattern.
fn text_schema(pattern: Option<&str>) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .pattern(pattern)
        .build()
        .into()
}

macro_rules! define_text_schemas {
    ($($type:ty, $name:literal, $pattern:expr;)*) => {$(
        impl utoipa::PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                text_schema($pattern)
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    )*};
}

define_text_schemas! {
    DecimalAmount, "Amount", Some("^[0-9]+([.][0-9]{1,2})?$");
    UsdcAmount, "Usdc", Some("^[0-9]+([.][0-9]{1,6})?$");
    SecretText, "Secret", None;
}
