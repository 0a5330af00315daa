//! Banking: the insides of `result`.

use serde::Deserialize;
use utoipa::ToSchema;

/// A profile that was made.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewBankingProfile {
    /// As it is kept.
    pub profile: BankingProfile,
}

/// Who somebody is to the bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingProfile {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `open`.
    pub status: String,
    /// `individual` or `business`.
    pub r#type: String,
    /// The person's.
    pub first_name: String,
    /// The person's.
    pub last_name: String,
    /// Of a business.
    pub business_name: Option<String>,
    /// Where the bank writes to.
    pub email: String,
    /// ISO 3166-1 alpha-2.
    pub country: String,
    /// RFC 3339.
    pub created_at: String,
}

/// How far banking is.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingProfileStatus {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `none` or `open`.
    pub status: String,
    /// Of the owner's identity: `none`, `in-review`, `verified` or `rejected`.
    pub identity: String,
    /// The profile, if there is one.
    pub profile: Option<BankingProfile>,
}
